// A chart of figures over time in SVG: lines, or areas on top of each other. It draws what is
// known and leaves a gap where nothing is.

import { h, reconcile, setAttribute, setText, svg } from "../lib/dom.js";
import { timeOfDay, UNKNOWN } from "../lib/format.js";
import { areaPath, linePath, stacked } from "./paths.js";
import { linearScale, powerScale, timeTicks } from "./scale.js";

const TOP = 8;
const BOTTOM = 20;
const RIGHT = 8;
const LETTER = 6.4;

/**
 * One chart. `definition` has title, format, and lines of {column, label, tone}; and if wanted unit
 * ("whole", "bytes", "seconds"), max, stacked, powers, wide, and `absent`: why there may be no figures.
 */
export class Chart {
  constructor(definition, crosshair) {
    this.definition = definition;
    this.crosshair = crosshair;
    this.data = null;
    this.plot = svg("svg", { role: "img", tabindex: 0, "aria-label": definition.title });
    this.legend = h("ul", { class: "legend" });
    this.note = h("p", { class: "absent", hidden: true });
    this.root = h("figure", { class: definition.wide ? "chart wide" : "chart" },
      h("figcaption", {}, definition.title),
      h("div", { class: "plot" }, this.plot, this.note),
      this.legend);
    this.listen();
  }

  listen() {
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.crosshair.set(null));
    this.plot.addEventListener("blur", () => this.crosshair.set(null));
    this.plot.addEventListener("keydown", (event) => this.step(event));
    this.crosshair.listen(() => this.mark());
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  /** `columns` maps names to figures at `times`; `domain` is [from, to]; `threshold` a level to mark. */
  update(times, columns, domain, threshold = null) {
    this.data = { times, columns, domain, threshold };
    this.draw();
  }

  draw() {
    const { width, height } = this.plot.getBoundingClientRect();
    if (!this.data || width < 40 || height < 40) return;
    const { times, columns, domain, threshold } = this.data;
    const { lines, absent } = this.definition;
    const first = Math.max(0, times.findIndex((at) => at >= domain[0]) - 1);
    this.times = times.slice(first);
    this.values = lines.map((line) => columns[line.column].slice(first));
    const isKnown = this.values.some((column) => column.some((value) => value !== null));
    this.note.hidden = isKnown;
    setText(this.note, isKnown ? "" : absent ?? "nothing to show yet");
    this.place(width, height, domain, threshold);
    this.plot.replaceChildren(...this.grid(width, height, domain), ...this.shapes(), ...this.level(threshold, width));
    this.line = svg("line", { class: "crosshair", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
    this.plot.append(this.line);
    this.mark();
  }

  place(width, height, [from, to], threshold) {
    const { unit, max, powers, format } = this.definition;
    this.shown = this.definition.stacked ? stacked(this.values) : this.values.map((column) => ({ column, base: null }));
    const all = this.shown.flatMap(({ column }) => column).filter((value) => value !== null);
    const highest = Math.max(max ?? 0, threshold ?? 0, ...all);
    const scale = powers
      ? powerScale(Math.min(...(all.length ? all : [1])), Math.max(...(all.length ? all : [10])))
      : linearScale(highest, unit);
    this.left = Math.max(...scale.ticks.map((tick) => format(tick).length)) * LETTER + 10;
    this.scale = scale;
    this.x = (at) => this.left + ((at - from) / (to - from)) * (width - this.left - RIGHT);
    this.at = (x) => from + ((x - this.left) / (width - this.left - RIGHT)) * (to - from);
    this.y = (value) => TOP + (1 - scale.place(value)) * (height - TOP - BOTTOM);
  }

  grid(width, height, [from, to]) {
    const levels = this.scale.ticks.flatMap((tick) => [
      svg("line", { class: "grid", x1: this.left, x2: width - RIGHT, y1: this.y(tick), y2: this.y(tick) }),
      svg("text", { class: "tick", x: this.left - 6, y: this.y(tick) + 4, "text-anchor": "end" },
        this.definition.format(tick)),
    ]);
    const room = Math.max(2, Math.floor((width - this.left) / 90));
    const moments = timeTicks(from, to, room).map((at) => {
      const x = Math.min(Math.max(this.x(at), this.left + 16), width - RIGHT - 20);
      return svg("text", { class: "tick", x, y: height - 5, "text-anchor": "middle" },
        timeOfDay(at).slice(0, at % 60_000 ? 8 : 5));
    });
    return [...levels, ...moments];
  }

  shapes() {
    const { lines } = this.definition;
    const isSingle = lines.length === 1;
    return this.shown.flatMap(({ column, base }, index) => {
      const tone = `tone-${lines[index].tone}`;
      const line = svg("path", { class: `line ${tone}`, d: linePath(this.times, column, this.x, this.y) });
      if (base === null && !isSingle) return [line];
      const d = areaPath(this.times, column, base, this.x, this.y);
      return [svg("path", { class: `area ${base === null ? "faint" : "full"} ${tone}`, d }), line];
    });
  }

  level(threshold, width) {
    if (threshold === null) return [];
    const y = this.y(threshold);
    return [svg("line", { class: "threshold", x1: this.left, x2: width - RIGHT, y1: y, y2: y })];
  }

  /** Show the figures at the crosshair; without one, the newest. */
  mark() {
    if (!this.times) return;
    const index = this.nearest(this.crosshair.time);
    const at = this.times[index];
    const isPointing = this.crosshair.time !== null && index >= 0;
    setAttribute(this.line, "visibility", isPointing ? "visible" : "hidden");
    if (isPointing) ["x1", "x2"].forEach((name) => setAttribute(this.line, name, this.x(at)));
    const entries = this.definition.lines.map((line, i) => ({ ...line, value: this.values[i][index] ?? null }));
    reconcile(this.legend, entries, (entry) => entry.column, legendEntry, (node, entry) => {
      setText(node.lastChild, entry.value === null ? this.definition.none ?? UNKNOWN : this.definition.format(entry.value));
    });
    const said = entries.map((entry, i) => `${entry.label} ${this.legend.children[i].lastChild.textContent}`);
    const moment = isPointing ? ` at ${timeOfDay(at)}` : "";
    setAttribute(this.plot, "aria-label", `${this.definition.title}${moment}: ${said.join(", ")}`);
  }

  nearest(time) {
    if (time === null) return this.times.length - 1;
    let best = 0;
    this.times.forEach((at, i) => {
      if (Math.abs(at - time) < Math.abs(this.times[best] - time)) best = i;
    });
    return best;
  }

  point(event) {
    if (!this.times?.length) return;
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    this.crosshair.set(this.times[this.nearest(this.at(x))]);
  }

  step(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -15, PageDown: 15 }[event.key];
    if (event.key === "Escape") this.crosshair.set(null);
    if (by === undefined || !this.times?.length) return;
    event.preventDefault();
    const index = this.nearest(this.crosshair.time) + by;
    this.crosshair.set(this.times[Math.max(0, Math.min(this.times.length - 1, index))]);
  }
}

function legendEntry(entry) {
  return h("li", { class: `tone-${entry.tone}` }, h("span", { class: "swatch" }), entry.label, h("b"));
}
