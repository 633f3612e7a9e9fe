// Every partition of a table with all that is known of it; on a phone, one block each.

import { now } from "./clock.js";
import { h, reconcile, setAttribute, setText } from "./dom.js";
import { aliveBytes, compactionLag, makeup } from "./figures.js";
import { ago, bytes, count, dateTime, duration, exact, percent, UNKNOWN } from "./format.js";
import { Makeup } from "./makeup.js";

// label -> text (or [text, title]) from the partition's status and its compaction.
const COLUMNS = [
  ["Live keys", ({ status }) => [count(status.keys), exact(status.keys)]],
  ["Records", ({ log }) => count(log?.contents?.records)],
  ["Superseded", ({ log }) => count(log?.contents?.duplicates)],
  ["Tombstones", ({ log }) => count(log?.contents?.tombstones)],
  ["On disk", ({ log }) => bytes(log?.size_bytes)],
  ["Alive", ({ log }) => { const alive = log ? aliveBytes(log) : null; return alive === null ? UNKNOWN : `≈ ${bytes(alive)}`; }],
  ["Dirty", ({ log }) => percent(log?.cleaner?.dirty_ratio)],
  ["Compaction lag", ({ log }) => { const lag = log ? compactionLag(log, now()) : null; return lag === 0 ? "none" : duration(lag); }],
  ["Last cleaned", ({ log }) => lastCleaned(log?.cleaner)],
  ["Lag", ({ status }) => (status.lag ? `${count(status.lag)} for ${duration(status.lag_seconds)}` : "none")],
  ["Position", ({ status }) => [`${exact(status.position)} of ${exact(Math.max(status.log_end, status.position))}`, `the log starts at ${exact(status.log_start)}`]],
  ["State", ({ status, log }) => stateOf(status, log)],
];

function lastCleaned(cleaner) {
  if (!cleaner) return UNKNOWN;
  if (cleaner.given_up) return "given up";
  if (!cleaner.last_run) return "not yet";
  const { ended, records_before: before, records_after: after } = cleaner.last_run;
  return [ago(ended, now()), `${dateTime(ended)}: ${exact(before)} records became ${exact(after)}`];
}

function stateOf(status, log) {
  const leaderless = log && log.leader === null ? ", no leader" : "";
  if (status.stale) return `stale${leaderless}`;
  const bad = status.quarantined ? `, ${count(status.quarantined)} in quarantine` : "";
  return `${status.live ? "live" : "restoring"}${leaderless}${bad}`;
}

/** A table of partitions. */
export class Partitions {
  constructor() {
    this.rows = h("tbody");
    this.root = h("section", { class: "panel" },
      h("h2", {}, "Partitions"),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Partitions" },
        h("table", { class: "data stacking" },
          h("thead", {}, h("tr", {},
            h("th", { scope: "col" }, "Partition"), h("th", { scope: "col" }, "Log"),
            COLUMNS.map(([label]) => h("th", { scope: "col" }, label)))),
          this.rows)));
    this.bars = new WeakMap();
  }

  update({ status, compaction }) {
    if (!status) return;
    const logs = new Map((compaction?.partitions ?? []).map((log) => [log.partition, log]));
    reconcile(this.rows, status.partitions, (each) => each.partition, (each) => this.row(each), (node, each) => {
      const log = logs.get(each.partition) ?? null;
      this.bars.get(node).update(makeup(log?.contents));
      COLUMNS.forEach(([, show], i) => fill(node.cells[i + 2], show({ status: each, log })));
    });
  }

  row({ partition }) {
    const bar = new Makeup({ legend: false });
    const node = h("tr", {},
      h("th", { scope: "row", "data-label": "Partition" }, String(partition)),
      h("td", { class: "bar-cell", "data-label": "Log" }, bar.root),
      COLUMNS.map(([label]) => h("td", { "data-label": label })));
    this.bars.set(node, bar);
    return node;
  }
}

function fill(cell, shown) {
  const [text, title] = Array.isArray(shown) ? shown : [shown, null];
  setText(cell, text);
  setAttribute(cell, "title", title);
  cell.classList.toggle("unknown", text === UNKNOWN);
}
