// The partitions that changed their owner, the newest first.

import { now } from "../lib/clock.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { ago, dateTime } from "../lib/format.js";

const SHOWN_MAX = 50;

/** A list of movements. */
export class Movements {
  constructor() {
    this.list = h("ol", { class: "movements" });
    this.none = h("p", { class: "muted" }, "No partition has changed its owner. One moves when an instance joins, leaves or drains, ",
      "and only once its next owner has caught up.");
    this.root = h("section", { class: "panel" }, h("h2", {}, "Movements"), this.none, this.list);
  }

  update(movements) {
    this.none.hidden = movements.length > 0;
    const shown = movements.slice(0, SHOWN_MAX);
    reconcile(this.list, shown, (each) => `${each.plan}/${each.table}/${each.partition}`, item, (node, each) => {
      setText(node.querySelector("time"), ago(each.at, now()));
    });
  }
}

function item({ at, plan, table, partition, source, target, cause }) {
  return h("li", {},
    h("span", { class: "what" }, h("b", {}, `${table} ${partition}`), h("span", {}, source, " → ", target)),
    h("span", { class: "muted" }, `${cause} · plan #${plan}`),
    h("time", { class: "muted", title: dateTime(at) }));
}
