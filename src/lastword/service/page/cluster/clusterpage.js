// The instances that share tables: who is there, who keeps which partition, and what moved.

import { explain, get } from "../requests/api.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { Poll } from "../lib/poll.js";
import { ClusterView } from "./clusterview.js";
import { Lesson } from "./lesson.js";

const EVERY_MS = 2000;

/** The page. Closed when another one is shown. */
export class ClusterPage {
  constructor() {
    this.views = new Map();
    this.list = h("div", { class: "clusters" });
    this.summary = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "empty", hidden: true });
    this.lesson = new Lesson();
    this.root = h("div", { class: "page" },
      h("div", { class: "title" }, h("h1", {}, "Cluster"), this.summary),
      this.problem, this.lesson.root, this.list);
    this.title = "Cluster";
    this.poll = new Poll(() => this.refresh(), EVERY_MS, (problem) => this.refuse(problem));
  }

  close() {
    this.poll.stop();
  }

  async refresh() {
    const { clusters } = await get("/cluster");
    this.problem.hidden = true;
    this.lesson.root.hidden = clusters.length > 0;
    reconcile(this.list, clusters, (each) => `${each.application}/${each.instance}`, (each) => this.view(each), (node, each) => {
      this.views.get(node).update(each);
    });
    setText(this.summary, clusters.map((each) => inWords(each)).join(" · "));
  }

  view(cluster) {
    const view = new ClusterView(cluster);
    this.views.set(view.root, view);
    return view.root;
  }

  refuse(problem) {
    this.lesson.root.hidden = true;
    reconcile(this.list, [], () => null, () => null, () => {});
    setText(this.summary, "");
    this.problem.hidden = false;
    setText(this.problem, problem.status === 401
      ? "This service asks for a token before it shows anything. Give it one with the button at the top."
      : explain(problem));
  }
}

function inWords({ members, tables }) {
  return `${plural(members.length, "instance")} share ${plural(tables.length, "table")}`;
}
