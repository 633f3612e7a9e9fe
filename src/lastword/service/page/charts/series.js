// A table's figures over time, kept here and only added to: each request asks for what is new.

import { get } from "../requests/api.js";
import { tablePath } from "../requests/endpoint.js";

const REMEMBERED_MS = 30 * 60 * 1000;

/** Columns of figures with one list of times; null where a figure was not known. */
export class Series {
  constructor(table) {
    this.table = table;
    this.times = [];
    this.columns = {};
  }

  /** Ask for the points since the last one. */
  async refresh() {
    const since = this.times.at(-1) ?? 0;
    const answer = await get(tablePath(this.table, ["series"], { since }));
    for (const name of Object.keys(answer.series)) {
      // A column that came later was unknown before.
      this.columns[name] ??= this.times.map(() => null);
    }
    this.times.push(...answer.times);
    for (const [name, column] of Object.entries(this.columns)) {
      column.push(...(answer.series[name] ?? answer.times.map(() => null)));
    }
    this.forget();
  }

  forget() {
    const oldest = (this.times.at(-1) ?? 0) - REMEMBERED_MS;
    const gone = this.times.findIndex((at) => at >= oldest);
    if (gone <= 0) return;
    this.times.splice(0, gone);
    for (const column of Object.values(this.columns)) column.splice(0, gone);
  }

  /** A column by name; all unknown when there is no such column yet. */
  column(name) {
    return this.columns[name] ?? this.times.map(() => null);
  }

  /** The newest figure, or null. */
  latest(name) {
    return this.columns[name]?.at(-1) ?? null;
  }
}
