// Which charts a table has, and what each of them says when there is nothing to draw.

import { Chart } from "./chart.js";
import { Crosshair } from "./crosshair.js";
import { h, setAttribute } from "../lib/dom.js";
import { bytes, count, duration, latency, percent, rate } from "../lib/format.js";

const REMOTE = "unknown: the broker's files are on another machine";
const OPERATIONS = (figure) => [
  { column: `read_${figure}_ms`, label: "get", tone: "read" },
  { column: `write_${figure}_ms`, label: "put", tone: "write" },
  { column: `watch_${figure}_ms`, label: "watch", tone: "watch" },
];

const DEFINITIONS = [
  { title: "Live keys", format: count, unit: "whole", max: 3, lines: [{ column: "keys", label: "in the table", tone: "live" }] },
  {
    title: "Records in the log", format: count, unit: "whole", stacked: true, wide: true,
    none: "not counted", absent: "not counted yet",
    lines: [
      { column: "log_live_keys", label: "current", tone: "live" },
      { column: "duplicates", label: "superseded", tone: "superseded" },
      { column: "log_deletes", label: "deleted", tone: "tombstone" },
    ],
  },
  {
    title: "Bytes of the log", format: bytes, unit: "bytes",
    lines: [
      { column: "log_bytes", label: "on disk", tone: "superseded" },
      { column: "alive_bytes", label: "alive", tone: "live" },
    ],
  },
  {
    title: "Dirty ratio", format: percent, max: 0.1, absent: REMOTE, threshold: true,
    lines: [{ column: "dirty_ratio", label: "highest partition", tone: "superseded" }],
  },
  {
    title: "Compaction lag", format: duration, unit: "seconds", max: 10, absent: REMOTE,
    lines: [{ column: "compaction_lag_seconds", label: "oldest waiting record", tone: "tombstone" }],
  },
  {
    title: "Operations per second", format: rate, max: 1, wide: true,
    lines: [
      { column: "reads_per_second", label: "reads", tone: "read" },
      { column: "writes_per_second", label: "writes", tone: "write" },
      { column: "watch_changes_per_second", label: "watched", tone: "watch" },
    ],
  },
  { title: "Latency, 99 of 100 within", format: latency, powers: true, none: "–", absent: "no operations yet", lines: OPERATIONS("p99") },
  { title: "Latency, half of them within", format: latency, powers: true, none: "–", absent: "no operations yet", lines: OPERATIONS("p50") },
  { title: "Lag in records", format: count, unit: "whole", max: 3, lines: [{ column: "lag_records", label: "not read yet", tone: "lag" }] },
  { title: "Lag in seconds", format: duration, unit: "seconds", max: 3, lines: [{ column: "lag_seconds", label: "behind the log for", tone: "lag" }] },
];

const SPANS = [["5 min", 5], ["15 min", 15], ["30 min", 30]];
const SHORTEST_MS = 60_000;

/** All charts of a table under one choice of time. */
export class Charts {
  constructor() {
    const crosshair = new Crosshair();
    this.charts = DEFINITIONS.map((definition) => new Chart(definition, crosshair));
    this.minutes = 15;
    this.data = null;
    this.buttons = SPANS.map(([label, minutes]) =>
      h("button", { type: "button", on: { click: () => this.choose(minutes) } }, label));
    this.root = h("section", { class: "charts-block" },
      h("div", { class: "heading" }, h("h2", {}, "Over time"),
        h("div", { class: "segmented", role: "group", "aria-label": "Time shown" }, this.buttons)),
      h("div", { class: "charts" }, this.charts.map((chart) => chart.root)));
    this.choose(this.minutes);
  }

  choose(minutes) {
    this.minutes = minutes;
    SPANS.forEach(([, each], i) => setAttribute(this.buttons[i], "aria-pressed", each === minutes ? "true" : "false"));
    if (this.data) this.update(this.data);
  }

  update(data) {
    this.data = data;
    const { series, compaction } = data;
    if (!series.times.length) return;
    const to = series.times.at(-1);
    // A service that has just started gets the whole width for its first minutes.
    const known = Math.max(SHORTEST_MS, to - series.times[0]);
    const domain = [to - Math.min(known, this.minutes * 60_000), to];
    const ratio = compaction?.settings["min.cleanable.dirty.ratio"];
    for (const chart of this.charts) {
      const columns = Object.fromEntries(chart.definition.lines.map(({ column }) => [column, columnOf(series, column)]));
      const threshold = chart.definition.threshold && ratio !== undefined ? Number(ratio) : null;
      chart.update(series.times, columns, domain, threshold);
    }
  }
}

// Figures that follow from those that the service remembers; null where one of them is.
const DERIVED = {
  alive_bytes: [["log_bytes", "live_bytes", "record_bytes"], (disk, live, all) => (all ? disk * (live / all) : 0)],
  log_deletes: [["log_records", "log_live_keys", "duplicates"], (all, live, superseded) => all - live - superseded],
};

function columnOf(series, name) {
  if (!(name in DERIVED)) return series.column(name);
  const [names, derive] = DERIVED[name];
  const columns = names.map((each) => series.column(each));
  return series.times.map((_, i) => {
    const values = columns.map((column) => column[i]);
    return values.includes(null) ? null : derive(...values);
  });
}
