// Counting the records of a log means reading all of it. The service does that by itself for logs
// of a modest size while somebody looks; of a large one, only when an operator asks.

import { explain, Problem, survey, Unreachable } from "../requests/api.js";
import { h, setText } from "../lib/dom.js";

/** A button for those who may, and a word for everybody about why nothing is counted yet. */
export class SurveyButton {
  constructor(table, counted) {
    this.table = table;
    this.counted = counted;
    this.isCounting = false;
    this.text = h("span", { class: "muted", role: "status" });
    this.button = h("button", { type: "button", hidden: true, on: { click: () => this.count() } }, "Count now");
    this.root = h("div", { class: "survey" }, this.text, this.button);
  }

  update({ status, compaction }) {
    this.button.hidden = status?.access !== "admin";
    if (this.isCounting || !compaction) return;
    const waits = compaction.survey_running ? "counting…" : "The log is counted by itself soon, unless it is large.";
    setText(this.text, compaction.surveyed === null ? waits : "");
  }

  async count() {
    this.isCounting = this.button.disabled = true;
    setText(this.text, "reading the whole log…");
    try {
      const compaction = await survey(this.table);
      setText(this.text, "");
      this.counted(compaction);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
      setText(this.text, explain(error));
    } finally {
      this.isCounting = this.button.disabled = false;
    }
  }
}
