// The processes that serve these tables.

import { get } from "../requests/api.js";
import { noteServiceTime } from "../lib/clock.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { count, dateTime, duration } from "../lib/format.js";
import { Poll } from "../lib/poll.js";

const EVERY_MS = 5000;
const UNKNOWN = "–";
const COLUMNS = ["Instance", "Address", "Version", "Up for", "Tables", "Watchers"];

/** A table of instances that refreshes itself. */
export class Instances {
  constructor() {
    this.rows = h("tbody");
    this.root = h("section", { class: "panel" },
      h("h2", {}, "Instances"),
      h("table", { class: "data stacking" },
        h("thead", {}, h("tr", {}, COLUMNS.map((label) => h("th", { scope: "col" }, label)))),
        this.rows));
    this.poll = new Poll(() => this.refresh(), EVERY_MS, () => (this.root.hidden = true));
  }

  close() {
    this.poll.stop();
  }

  async refresh() {
    const { instances } = await get("/instances");
    this.root.hidden = false;
    const here = instances.find((each) => each.this);
    if (here) noteServiceTime(here.started + here.uptime_seconds * 1000);
    reconcile(this.rows, instances, (each) => each.id, row, (node, each) => {
      const cells = [
        each.this ? `${each.id} (this one)` : each.id, each.url, each.version ?? UNKNOWN,
        each.this ? duration(Math.floor(each.uptime_seconds)) : UNKNOWN, count(each.tables.length),
        each.this ? count(each.watchers) : UNKNOWN,
      ];
      cells.forEach((text, i) => setText(node.cells[i], text));
      node.cells[3].title = each.this ? `since ${dateTime(each.started)}` : "only that instance knows";
    });
  }
}

function row() {
  return h("tr", {}, COLUMNS.map((label, i) => h("td", { "data-label": label, class: i === 1 ? "mono" : null })));
}
