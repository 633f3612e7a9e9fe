// Everything known of one table: its state, its figures over time, its compaction.

import { get, Problem } from "../requests/api.js";
import { tablePath } from "../requests/endpoint.js";
import { Series } from "../charts/series.js";

/** Refreshed by whoever shows it. What failed is in `problem`; the rest stays as it was. */
export class TableData {
  constructor(name) {
    this.name = name;
    this.status = null;
    this.compaction = null;
    this.series = new Series(name);
    this.problem = null;
  }

  /** State and series: cheap, for every other second. */
  async refresh() {
    await this.attempt(async () => {
      const [status] = await Promise.all([get(tablePath(this.name)), this.series.refresh()]);
      this.status = status;
    });
  }

  /** The cluster is asked for this one, so seldomer. */
  async refreshCompaction() {
    await this.attempt(async () => {
      this.compaction = await get(tablePath(this.name, ["compaction"]));
    });
  }

  async attempt(task) {
    try {
      await task();
      this.problem = null;
    } catch (error) {
      // No answer is the banner's matter; a refusal belongs to this table.
      if (error instanceof Problem) this.problem = error;
    }
  }
}
