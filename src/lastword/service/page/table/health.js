// The health of a table: figures, charts, partitions, and why its log is not compacted further.

import { Charts } from "../charts/charts.js";
import { h } from "../lib/dom.js";
import { wholeMakeup } from "./figures.js";
import { Makeup } from "./makeup.js";
import { Partitions } from "./partitions.js";
import { Reasons } from "./reasons.js";
import { Restore } from "./restore.js";
import { SurveyButton } from "./surveybutton.js";
import { Tiles } from "./tiles.js";

/** The first tab of a table's page. */
export class Health {
  constructor(name) {
    this.restore = new Restore();
    this.tiles = new Tiles();
    this.makeup = new Makeup();
    this.survey = new SurveyButton(name, (compaction) => {
      this.data.compaction = compaction;
      this.update(this.data);
    });
    this.charts = new Charts();
    this.partitions = new Partitions();
    this.reasons = new Reasons();
    this.root = h("div", { class: "pane health" },
      this.restore.root,
      this.tiles.root,
      h("section", { class: "panel" },
        h("div", { class: "heading" }, h("h2", {}, "What the log is made of"), this.survey.root),
        this.makeup.root),
      this.charts.root,
      this.partitions.root,
      this.reasons.root);
    this.isVisible = false;
    this.data = null;
  }

  /** Draw only what is seen; nine charts are work. */
  visible(isVisible) {
    this.isVisible = isVisible;
    if (isVisible && this.data) this.update(this.data);
  }

  update(data) {
    this.data = data;
    if (!this.isVisible) return;
    this.restore.update(data.status);
    this.tiles.update(data);
    this.makeup.update(wholeMakeup(data.compaction));
    this.survey.update(data);
    this.charts.update(data);
    this.partitions.update(data);
    this.reasons.update(data.compaction);
  }
}
