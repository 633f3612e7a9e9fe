// One captured table: its figures, what is wrong with it, and how its columns have changed.

import { now } from "../lib/clock.js";
import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { ago, bytes, count, dateTime, duration, plural } from "../lib/format.js";
import { tableHref } from "../lib/route.js";

const LATE_S = 60;

// label -> {value, note, title?, tone?} of a capture.
const TILES = [
  ["Lag", (each) => ({
    value: each.lag_seconds === 0 ? "none" : duration(each.lag_seconds),
    note: each.events_behind ? `${plural(each.events_behind, "event")} behind` : "of the table, behind the database",
    tone: each.lag_seconds > LATE_S ? "warn" : null,
  })],
  ["To read", (each) => ({ value: bytes(each.lag_bytes), note: "of the database's log" })],
  ["Slot size", (each) => ({ value: bytes(each.slot_bytes), note: slotNote(each), tone: each.slot_alert ? "bad" : null })],
  ["Last event", (each) => ({
    value: each.last_event === null ? "none yet" : ago(each.last_event, now()),
    title: each.last_event === null ? null : dateTime(each.last_event),
    note: "written by the connector",
  })],
  ["Columns", (each) => ({
    value: each.columns.length ? count(each.columns.length) : "unknown",
    title: each.columns.map(({ name, type }) => `${name} ${type}`).join("\n") || null,
    note: each.schema_version === null ? "no version is recorded" : `version ${count(each.schema_version)}`,
  })],
];

function slotNote({ slot_lost: lost, slot_active: active, slot_alert: alert }) {
  if (lost) return "invalidated: take a new snapshot";
  if (active === null) return "there is no slot";
  if (alert) return "of log, kept by the database";
  return active ? "the connector is connected" : "the connector is not connected";
}

/** {word, tone} of a capture. */
function stateOf({ connector, failure, phase, problems, slot_alert: alert }) {
  if (failure !== null || connector === "FAILED") return { word: "failed", tone: "bad" };
  if (problems.length) return { word: "does not answer", tone: "bad" };
  if (connector === null) return { word: "no connector", tone: "dull" };
  if (connector !== "RUNNING") return { word: connector.toLowerCase(), tone: "warn" };
  if (alert) return { word: "holds back the log", tone: "bad" };
  return { word: phase === "snapshot" ? "copying" : phase, tone: phase === "streaming" ? "good" : "busy" };
}

/** A panel of one capture. */
export class CaptureView {
  constructor({ capture }) {
    this.tiles = TILES.map(([label, show]) => ({ label, show, root: h("div", { class: "tile" }), value: h("dd", { class: "figure" }), note: h("dd", { class: "muted" }) }));
    for (const tile of this.tiles) tile.root.append(h("dt", {}, tile.label), tile.value, tile.note);
    this.source = h("span", { class: "muted" });
    this.state = h("span", { class: "pill" });
    this.wrong = h("ul", { class: "wrong" });
    this.changes = h("ol", { class: "schema-changes" });
    this.changed = h("div", { hidden: true }, h("h3", {}, "Changes of its columns"), this.changes);
    this.root = h("section", { class: "panel capture", "aria-label": `Capture ${capture}` },
      h("div", { class: "heading" }, h("h2", {}, h("a", { href: tableHref(capture) }, capture)), this.source, this.state),
      this.wrong,
      h("dl", { class: "tiles" }, this.tiles.map((tile) => tile.root)),
      this.changed);
  }

  update(capture) {
    const { word, tone } = stateOf(capture);
    setText(this.state, word);
    setAttribute(this.state, "data-tone", tone);
    setText(this.source, `${capture.table} at ${capture.source}`);
    const wrong = [capture.failure, ...capture.problems].filter((text) => text !== null);
    reconcile(this.wrong, wrong, (text) => text, (text) => h("li", {}, text), () => {});
    for (const tile of this.tiles) {
      const { value, note, title = null, tone: ofTile = null } = tile.show(capture);
      setText(tile.value, value);
      setText(tile.note, note);
      setAttribute(tile.value, "title", title);
      setAttribute(tile.root, "data-tone", ofTile);
    }
    this.changed.hidden = capture.schema_changes.length === 0;
    reconcile(this.changes, capture.schema_changes, (each) => each.version, change, (node, each) => {
      setText(node.querySelector("time"), ago(each.at, now()));
    });
  }
}

function change({ version, at, changes }) {
  return h("li", {},
    h("b", {}, `version ${count(version)}`), h("span", {}, changes.join("; ")),
    h("time", { class: "muted", title: dateTime(at) }));
}
