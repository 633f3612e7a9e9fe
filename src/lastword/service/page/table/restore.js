// A restore under way, and what is wrong with a table: above everything else, because until it is
// over nothing else is true.

import { explain } from "../requests/api.js";
import { h, reconcile, setShare, setText } from "../lib/dom.js";
import { exact, percent } from "../lib/format.js";
import { restoreOf } from "./state.js";

/** Hidden as long as there is nothing to say. */
export class Restore {
  constructor() {
    this.text = h("p", { role: "status" });
    this.bar = h("div", { class: "progress", role: "progressbar", "aria-label": "Restore", "aria-valuemin": 0, "aria-valuemax": 100 }, h("i"));
    this.partitions = h("ul", { class: "restoring" });
    this.problem = h("p", { class: "problem" });
    this.root = h("section", { class: "panel notice", hidden: true }, this.text, this.bar, this.partitions, this.problem);
  }

  update(status) {
    const restore = restoreOf(status);
    const error = status?.error ?? null;
    this.root.hidden = restore === null && error === null;
    if (this.root.hidden) return;
    setText(this.text, restore === null ? "" : `Restoring: ${restore.text}. Reads are answered when it has reached the end.`);
    this.bar.hidden = this.partitions.hidden = restore === null;
    setShare(this.bar, restore?.share ?? 0);
    this.bar.setAttribute("aria-valuenow", Math.round((restore?.share ?? 0) * 100));
    setText(this.problem, error === null || restore !== null ? "" : explain(error));
    reconcile(this.partitions, status.partitions, (each) => each.partition, () => h("li"), (node, each) => {
      const { start, position, end, blocked, done } = each.restore;
      const share = end > start ? (position - start) / (end - start) : 1;
      const state = done ? "done" : blocked ? "waits for an open transaction" : percent(Math.min(1, share));
      setText(node, `Partition ${each.partition}: ${state}, offset ${exact(position)} of ${exact(end)}`);
    });
  }
}
