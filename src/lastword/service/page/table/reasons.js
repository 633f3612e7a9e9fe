// Why the log is not compacted further, and what to do about it. Partitions with the same reason
// stand together.

import { h, reconcile, setText } from "../lib/dom.js";

const TITLES = {
  policy: "The topic is not compacted",
  "cleaner off": "The cleaner is switched off",
  "dead cleaner": "A cleaner thread has died",
  uncleanable: "The cleaner has given up",
  "open transaction": "An open transaction is in the way",
  "min.compaction.lag.ms": "The records are too young",
  "dirty ratio": "Too little is dirty",
  "active segment": "It is in the active segment",
  due: "It is about to be cleaned",
  "tombstones kept": "Tombstones are kept for a while",
  "nothing to clean": "There is nothing to clean",
  unknown: "Unknown from here",
};
const SETTINGS_TITLE = "Settings of the topic that decide about it";

/** A list of causes. */
export class Reasons {
  constructor() {
    this.list = h("ul", { class: "reasons" });
    this.settings = h("dl", { class: "settings" });
    this.root = h("section", { class: "panel", hidden: true },
      h("h2", {}, "Why it is not compacted further"),
      this.list,
      h("details", {}, h("summary", {}, SETTINGS_TITLE), this.settings));
  }

  update(compaction) {
    this.root.hidden = compaction === null;
    if (compaction === null) return;
    reconcile(this.list, byCause(compaction), (group) => group.cause, reason, (node, group) => {
      const [title, where, evidence, remedy] = node.children;
      setText(title, TITLES[group.cause] ?? group.cause);
      setText(where, `${group.partitions.length === 1 ? "partition" : "partitions"} ${group.partitions.join(", ")}`);
      setText(evidence, `${group.partitions.length > 1 ? `Partition ${group.partitions[0]}: ` : ""}${group.evidence}`);
      setText(remedy.lastChild, group.remedy);
      remedy.hidden = !group.remedy;
    });
    reconcile(this.settings, Object.entries(compaction.settings), ([name]) => name,
      ([name]) => h("div", {}, h("dt", { class: "mono" }, name), h("dd", { class: "mono" })),
      (node, [, value]) => setText(node.lastChild, value));
  }
}

function reason() {
  return h("li", {}, h("strong"), h("span", { class: "muted" }), h("p"), h("p", { class: "remedy" }, h("b", {}, "Remedy: "), h("span")));
}

/** The causes in the order in which they first appear, with their partitions and one piece of evidence. */
function byCause(compaction) {
  const groups = new Map();
  for (const { partition, reasons } of compaction.partitions) {
    for (const { cause, evidence, remedy } of reasons) {
      if (!groups.has(cause)) groups.set(cause, { cause, evidence, remedy, partitions: [] });
      groups.get(cause).partitions.push(partition);
    }
  }
  return [...groups.values()];
}
