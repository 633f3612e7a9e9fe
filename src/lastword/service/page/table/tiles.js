// The figures of a table that an operator looks for first, each with what it means.

import { now } from "../lib/clock.js";
import { h, setAttribute, setText } from "../lib/dom.js";
import { wholeTable } from "./figures.js";
import { ago, bytes, count, dateTime, duration, exact, percent, plural, rate, UNKNOWN } from "../lib/format.js";

const REMOTE = "the broker's files are on another machine";

function counted(figures) {
  return figures.surveyed === null ? "not counted yet" : `counted ${ago(figures.surveyed, now())}`;
}

function ofRecords(figures, part) {
  return figures.records ? `${percent(part / figures.records)} of the log` : counted(figures);
}

// label -> {value, note, title?, tone?} from the status, the figures of all partitions and more;
// null where the table has no such figure.
const TILES = [
  ["Live keys", ({ status }) => ({ value: count(status.keys), title: exact(status.keys), note: plural(status.partitions.length, "partition") })],
  ["Records in the log", ({ figures }) => ({ value: count(figures.records), title: exact(figures.records), note: counted(figures) })],
  ["Superseded", ({ figures }) => ({ value: count(figures.duplicates), note: figures.duplicates === null ? counted(figures) : `${ofRecords(figures, figures.duplicates)}, waiting to be cleaned` })],
  ["Tombstones", ({ figures }) => ({ value: count(figures.tombstones), note: figures.tombstones === null ? counted(figures) : ofRecords(figures, figures.tombstones) })],
  ["On disk", ({ figures }) => ({ value: bytes(figures.diskBytes), note: figures.aliveBytes === null ? "alive: unknown" : `≈ ${bytes(figures.aliveBytes)} of it alive` })],
  ["Dirty ratio", ({ figures, threshold }) => ({
    value: percent(figures.dirtyRatio),
    note: figures.dirtyRatio === null ? REMOTE : threshold === null ? "" : `cleaned above ${percent(threshold)}`,
    tone: figures.givenUp ? "bad" : null,
  })],
  ["Compaction lag", ({ figures }) => ({
    value: figures.compactionLag === 0 ? "none" : duration(figures.compactionLag),
    note: figures.compactionLag === null ? REMOTE : figures.compactionLag === 0 ? "no closed segment waits" : "the oldest record that waits",
  })],
  ["Last cleaned", ({ figures }) => ({
    value: !figures.cleanerKnown ? UNKNOWN : figures.lastClean === null ? "not yet" : ago(figures.lastClean, now()),
    title: figures.lastClean === null ? null : dateTime(figures.lastClean),
    note: !figures.cleanerKnown ? REMOTE : figures.givenUp ? "the cleaner has given up on a partition" : "by the broker's log cleaner",
    tone: figures.givenUp ? "bad" : null,
  })],
  ["Lag", ({ status }) => ({
    value: status.lag ? count(status.lag) : "none",
    note: status.lag ? `records, for ${duration(status.lag_seconds)}` : "reads reflect the whole log",
    tone: status.lag_seconds > 10 ? "warn" : null,
  })],
  ["Past the owner", ({ status }) => status.foreign === null ? null : ({
    value: status.foreign ? count(status.foreign) : "none",
    title: exact(status.foreign),
    note: status.foreign ? "records that no owner wrote" : "every write came through its owner",
    tone: status.foreign ? "warn" : null,
  })],
  ["Watchers", ({ status, series }) => ({ value: count(status.watchers), note: `${rate(series.latest("watch_changes_per_second"))} changes sent` })],
];

/** All tiles; placeholders until the first figures are there. */
export class Tiles {
  constructor() {
    this.tiles = TILES.map(([label, show]) => ({
      show, root: h("div", { class: "tile" }), value: h("dd", { class: "figure" }, "…"), note: h("dd", { class: "muted" }), label,
    }));
    for (const tile of this.tiles) tile.root.append(h("dt", {}, tile.label), tile.value, tile.note);
    this.root = h("dl", { class: "tiles" }, this.tiles.map((tile) => tile.root));
  }

  update({ status, compaction, series }) {
    if (!status) return;
    const figures = wholeTable(compaction, now());
    const ratio = compaction?.settings["min.cleanable.dirty.ratio"];
    const threshold = ratio === undefined ? null : Number(ratio);
    for (const tile of this.tiles) {
      const shown = tile.show({ status, figures, series, threshold });
      tile.root.hidden = shown === null;
      const { value, note, title = null, tone = null } = shown ?? { value: "", note: "" };
      const waits = compaction === null && value === UNKNOWN;
      setText(tile.value, waits ? "…" : value);
      setText(tile.note, waits ? "asking the cluster" : note);
      setAttribute(tile.value, "title", title);
      setAttribute(tile.root, "data-tone", tone);
      setAttribute(tile.root, "data-unknown", !waits && value === UNKNOWN ? "" : null);
    }
  }
}
