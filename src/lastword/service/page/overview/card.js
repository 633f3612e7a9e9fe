// One table at a glance: is it well, how much of its log is worth keeping, how busy is it.

import { explain } from "../requests/api.js";
import { now } from "../lib/clock.js";
import { h, setAttribute, setShare, setText } from "../lib/dom.js";
import { wholeMakeup, wholeTable } from "../table/figures.js";
import { ago, bytes, count, duration, exact, percent, rate, UNKNOWN } from "../lib/format.js";
import { Makeup } from "../table/makeup.js";
import { tableHref } from "../lib/route.js";
import { Sparkline } from "../charts/sparkline.js";
import { restoreOf, StatePill } from "../table/state.js";

const FACTS = [
  ["On disk", (f) => bytes(f.diskBytes)],
  ["Alive", (f) => (f.aliveBytes === null ? UNKNOWN : `≈ ${bytes(f.aliveBytes)}`)],
  ["Dirty", (f) => percent(f.dirtyRatio)],
  ["Cleaned", (f) => cleaned(f)],
];
const BUSY = [
  { column: "reads_per_second", tone: "read", label: "reads" },
  { column: "writes_per_second", tone: "write", label: "writes" },
];

function cleaned(figures) {
  if (!figures.cleanerKnown) return UNKNOWN;
  if (figures.givenUp) return "given up";
  return figures.lastClean === null ? "not yet" : ago(figures.lastClean, now());
}

/** Shows a TableData. */
export class Card {
  constructor(name) {
    this.pill = new StatePill();
    this.keys = h("strong", { class: "figure" }, "…");
    this.records = h("span", { class: "muted" });
    this.progress = h("div", { class: "progress" }, h("i"));
    this.note = h("p", { class: "muted" });
    this.makeup = new Makeup();
    this.facts = FACTS.map(([label]) => ({ label, value: h("dd", {}, "…") }));
    this.sparkline = new Sparkline(BUSY, "Reads and writes of the last five minutes");
    this.rates = BUSY.map(({ tone, label }) => ({ value: h("b", {}, "…"), tone, label }));
    this.lag = h("b", {}, "…");
    this.root = h("li", { class: "panel card" },
      h("h2", {}, h("a", { href: tableHref(name) }, name), this.pill.root),
      h("p", { class: "headline" }, this.keys, this.records),
      this.progress, this.note, this.makeup.root,
      h("dl", { class: "facts" }, this.facts.map(({ label, value }) => h("div", {}, h("dt", {}, label), value))),
      this.sparkline.root,
      h("ul", { class: "legend" },
        this.rates.map(({ tone, label, value }) => h("li", { class: `tone-${tone}` }, h("span", { class: "swatch" }), label, value)),
        h("li", {}, "lag", this.lag)));
  }

  update(data) {
    const { status, compaction, series } = data;
    this.pill.update(status);
    this.showProblem(data);
    if (!status) return;
    setText(this.keys, count(status.keys));
    setAttribute(this.keys, "title", exact(status.keys));
    const figures = wholeTable(compaction, now());
    setText(this.records, figures.records === null
      ? `${status.keys === 1 ? "key" : "keys"}` : `${status.keys === 1 ? "key" : "keys"} in ${count(figures.records)} records`);
    this.makeup.update(wholeMakeup(compaction));
    FACTS.forEach(([, show], i) => setText(this.facts[i].value, compaction === null ? "…" : show(figures)));
    this.sparkline.update(series);
    BUSY.forEach(({ column }, i) => setText(this.rates[i].value, rate(series.latest(column))));
    const behind = status.lag_seconds > 0 ? ` · ${duration(status.lag_seconds)}` : "";
    setText(this.lag, `${count(status.lag)}${behind}`);
  }

  showProblem({ status, problem }) {
    const restore = restoreOf(status);
    this.progress.hidden = restore === null;
    setShare(this.progress, restore?.share ?? 0);
    const text = restore?.text ?? (problem ? explain(problem) : status?.error ? explain(status.error) : "");
    setText(this.note, text);
    this.note.hidden = !text;
  }
}
