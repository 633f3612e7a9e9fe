// A line the size of a word: the course of the last minutes, without axes.

import { setAttribute, svg } from "../lib/dom.js";
import { areaPath, linePath } from "./paths.js";

const WIDTH = 200;
const HEIGHT = 36;
const SPAN_MS = 5 * 60 * 1000;
const SHORTEST_MS = 60 * 1000;

/** Draws columns of one unit over each other. */
export class Sparkline {
  constructor(lines, label) {
    this.paths = lines.map(({ tone }) => ({
      area: svg("path", { class: `area faint tone-${tone}` }),
      line: svg("path", { class: `line tone-${tone}` }),
    }));
    this.names = lines.map(({ column }) => column);
    this.root = svg("svg", {
      class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label,
    }, this.paths.flatMap(({ area, line }) => [area, line]));
  }

  update(series) {
    const to = series.times.at(-1) ?? 0;
    const first = Math.max(0, series.times.findIndex((at) => at >= to - SPAN_MS));
    const times = series.times.slice(first);
    const columns = this.names.map((name) => series.column(name).slice(first));
    const highest = Math.max(1, ...columns.flat());
    // A service that has just started gets the whole width for its first minutes.
    const span = Math.max(SHORTEST_MS, Math.min(SPAN_MS, to - (times[0] ?? to)));
    const x = (at) => (1 - (to - at) / span) * WIDTH;
    const y = (value) => HEIGHT - 2 - (value / highest) * (HEIGHT - 4);
    this.paths.forEach(({ area, line }, i) => {
      setAttribute(area, "d", areaPath(times, columns[i], null, x, y));
      setAttribute(line, "d", linePath(times, columns[i], x, y));
    });
  }
}
