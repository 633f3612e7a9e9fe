// One cluster: the instances with one application id.

import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { count, exact, plural } from "../lib/format.js";
import { Members } from "./members.js";
import { Movements } from "./movements.js";
import { SharedTable } from "./sharedtable.js";

// label -> {value, note, tone?} of a cluster.
const TILES = [
  ["Plan", ({ plan, leader }) => plan === null
    ? { value: "none yet", note: "the first one follows in a moment" }
    : { value: `#${exact(plan)}`, note: `written by ${leader}` }],
  ["Instances", ({ members }) => instances(members)],
  ["Partitions", ({ tables }) => {
    const alone = partitions(tables).filter(({ copies }) => copies.length === 0).length;
    return alone
      ? { value: count(partitions(tables).length), note: `${count(alone)} without an owner`, tone: "bad" }
      : { value: count(partitions(tables).length), note: "each has an owner" };
  }],
  ["Moving", ({ tables }) => {
    const moving = partitions(tables).filter(({ copies }) => copies.some(({ role }) => role === "next_owner")).length;
    return { value: moving ? count(moving) : "none", note: moving ? "their next owners warm up" : "every partition stays where it is" };
  }],
  ["Largest lag", ({ tables, members }) => largestLag(partitions(tables).flatMap(({ copies }) => copies), restarting(members))],
];

function partitions(tables) {
  return tables.flatMap((table) => table.partitions);
}

function instances(members) {
  const missing = members.filter((each) => !each.answers && each.state !== "restarting").length;
  if (missing) return { value: count(members.length), note: `${plural(missing, "does", "do")} not answer`, tone: "bad" };
  const leaving = members.filter(({ state }) => state === "draining" || state === "restarting").length;
  return { value: count(members.length), note: leaving ? `${count(leaving)} draining or restarting` : "all of them answer" };
}

/** The names of the instances that will be back. */
function restarting(members) {
  return new Set(members.filter(({ state }) => state === "restarting").map(({ instance }) => instance));
}

function largestLag(all, away) {
  const copies = all.filter(({ instance }) => !away.has(instance));
  const building = copies.filter(({ lag }) => lag === null).length;
  const whose = copies.length === all.length ? "of all copies" : "of the copies that are here";
  const note = building ? `${plural(building, "copy is", "copies are")} restored or silent` : `${whose}, in offsets`;
  const largest = Math.max(0, ...copies.map(({ lag }) => lag ?? 0));
  return { value: largest ? count(largest) : "none", note, tone: building ? "warn" : null };
}

/** Tiles, members, the partitions of each table, and movements. */
export class ClusterView {
  constructor({ application }) {
    this.tables = new Map();
    this.tiles = TILES.map(([label, show]) => ({ label, show, root: h("div", { class: "tile" }), value: h("dd", { class: "figure" }), note: h("dd", { class: "muted" }) }));
    for (const tile of this.tiles) tile.root.append(h("dt", {}, tile.label), tile.value, tile.note);
    this.members = new Members();
    this.list = h("div", { class: "shared-tables" });
    this.movements = new Movements();
    this.root = h("section", { class: "cluster", "aria-label": `Application ${application}` },
      h("p", { class: "about" }, "Application ", h("b", {}, application)),
      h("dl", { class: "tiles" }, this.tiles.map((tile) => tile.root)),
      this.members.root, this.list, this.movements.root);
  }

  update(cluster) {
    for (const tile of this.tiles) {
      const { value, note, tone = null } = tile.show(cluster);
      setText(tile.value, value);
      setText(tile.note, note);
      setAttribute(tile.root, "data-tone", tone);
    }
    this.members.update(cluster.members);
    reconcile(this.list, cluster.tables, (each) => each.table, (each) => this.table(each), (node, each) => {
      this.tables.get(node).update(each, restarting(cluster.members));
    });
    this.movements.update(cluster.movements);
  }

  table(shared) {
    const view = new SharedTable(shared);
    this.tables.set(view.root, view);
    return view.root;
  }
}
