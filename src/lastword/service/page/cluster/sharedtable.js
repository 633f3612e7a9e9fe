// Who keeps each partition of one table: owner, standbys, and who warms up to own it.

import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { count, plural } from "../lib/format.js";
import { tableHref } from "../lib/route.js";

const COLUMNS = [["Owner", "owner"], ["Standbys", "standby"], ["Next owner", "next_owner"]];

/** {text, tone} of a copy's lag; `restarting` has the instances that are away for a moment. */
function lagOf({ instance, role, lag }, restarting) {
  if (restarting.has(instance)) return { text: "restarting", tone: "busy" };
  if (lag === null) return { text: role === "next_owner" ? "warming up" : "no answer yet", tone: "busy" };
  if (lag === 0) return { text: "level", tone: "good" };
  return { text: `${count(lag)} behind`, tone: role === "next_owner" ? "busy" : "warn" };
}

/** A table of partitions. */
export class SharedTable {
  constructor({ table }) {
    this.about = h("span", { class: "muted" });
    this.rows = h("tbody");
    this.root = h("section", { class: "panel" },
      h("div", { class: "heading" }, h("h2", {}, h("a", { href: tableHref(table) }, table)), this.about),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Partitions of ${table}` },
        h("table", { class: "data stacking" },
          h("thead", {}, h("tr", {}, ["Partition", ...COLUMNS.map(([label]) => label)].map((label) => h("th", { scope: "col" }, label)))),
          this.rows)));
  }

  update({ partitions, standbys }, restarting) {
    const copies = standbys === null ? "every instance has all of it" : plural(standbys, "standby", "standbys") + " each";
    setText(this.about, `${plural(partitions.length, "partition")}, ${copies}`);
    reconcile(this.rows, partitions, (each) => each.partition, row, (node, each) => {
      COLUMNS.forEach(([, role], i) => {
        const kept = each.copies.filter((copy) => copy.role === role);
        const [list, none] = node.cells[i + 1].children;
        reconcile(list, kept, (copy) => copy.instance, chip, (node, copy) => fill(node, lagOf(copy, restarting)));
        none.hidden = kept.length > 0;
        setText(none, role === "owner" ? "nobody" : "–");
      });
    });
  }
}

function row({ partition }) {
  return h("tr", {},
    h("th", { scope: "row", "data-label": "Partition" }, String(partition)),
    COLUMNS.map(([label]) => h("td", { "data-label": label }, h("ul", { class: "copies" }), h("span", { class: "muted" }))));
}

function chip({ instance }) {
  return h("li", {}, h("b", {}, instance), h("span", { class: "pill" }));
}

function fill(node, { text, tone }) {
  setText(node.lastChild, text);
  setAttribute(node.lastChild, "data-tone", tone);
}
