// Every partition of a table with all that is known of it; on a phone, one block each.

import { now } from "../lib/clock.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { aliveBytes, compactionLag, makeup } from "./figures.js";
import { ago, bytes, count, duration, exact, percent, plural, UNKNOWN } from "../lib/format.js";
import { Makeup } from "./makeup.js";

// label -> [text, what it means or belongs to] from the partition's status and its compaction.
const COLUMNS = [
  ["Live keys", ({ status }) => [count(status.keys)]],
  ["Records", ({ log }) => [count(log?.contents?.records)]],
  ["Superseded", ({ log }) => [count(log?.contents?.duplicates)]],
  ["Tombstones", ({ log }) => [count(log?.contents?.tombstones)]],
  ["On disk", ({ log }) => [bytes(log?.size_bytes), alive(log)]],
  ["Dirty", ({ log }) => [percent(log?.cleaner?.dirty_ratio), log?.cleaner ? plural(log.cleaner.segments, "segment") : ""]],
  ["Compaction lag", ({ log }) => [waiting(log)]],
  ["Last cleaned", ({ log }) => lastCleaned(log?.cleaner)],
  ["Lag", ({ status }) => [lag(status), `at ${exact(status.position)} of ${exact(Math.max(status.log_end, status.position))}`]],
];

function alive(log) {
  const size = log ? aliveBytes(log) : null;
  return size === null ? "alive: unknown" : `≈ ${bytes(size)} alive`;
}

function waiting(log) {
  const seconds = log ? compactionLag(log, now()) : null;
  return seconds === 0 ? "none" : duration(seconds);
}

function lastCleaned(cleaner) {
  if (!cleaner) return [UNKNOWN];
  if (cleaner.given_up) return ["given up", "by the cleaner"];
  if (!cleaner.last_run) return ["not yet"];
  const { ended, records_before: before, records_after: after } = cleaner.last_run;
  return [ago(ended, now()), `${count(before)} → ${count(after)}`];
}

function lag(status) {
  return status.lag ? `${count(status.lag)} for ${duration(status.lag_seconds)}` : "none";
}

function stateOf(status, log) {
  const leaderless = log && log.leader === null ? ", no leader" : "";
  if (!status.ready) return `restoring${leaderless}`;
  if (status.stale) return `stale${leaderless}`;
  const bad = status.quarantined ? `, ${count(status.quarantined)} in quarantine` : "";
  return `live${leaderless}${bad}`;
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
      setText(node.cells[0].lastChild, stateOf(each, log));
      this.bars.get(node).update(makeup(log?.contents));
      COLUMNS.forEach(([, show], i) => fill(node.cells[i + 2], show({ status: each, log })));
    });
  }

  row({ partition }) {
    const bar = new Makeup({ legend: false });
    const node = h("tr", {},
      h("th", { scope: "row", "data-label": "Partition" }, String(partition), h("small", { class: "muted" })),
      h("td", { class: "bar-cell", "data-label": "Log" }, bar.root),
      COLUMNS.map(([label]) => h("td", { "data-label": label }, h("div", {}, h("span"), h("small", { class: "muted" })))));
    this.bars.set(node, bar);
    return node;
  }
}

function fill(cell, [text, more = ""]) {
  const [first, second] = cell.firstChild.children;
  setText(first, text);
  setText(second, more);
  cell.classList.toggle("unknown", text === UNKNOWN);
}
