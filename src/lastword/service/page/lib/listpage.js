// A page that lists what one route tells, and keeps itself up to date.

import { explain, get } from "../requests/api.js";
import { h, reconcile, setText } from "./dom.js";
import { Poll } from "./poll.js";

const EVERY_MS = 2000;

/**
 * Closed when another page is shown. `of` says what is listed:
 * title, className of the list, path of the route and the name of the list in its answer,
 * keyOf an entry, View of an entry (root, update), Lesson for an empty list, and inWords, which sums the entries up.
 */
export class ListPage {
  constructor(of) {
    this.of = of;
    this.views = new Map();
    this.list = h("div", { class: of.className });
    this.summary = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "empty", hidden: true });
    this.lesson = new of.Lesson();
    this.root = h("div", { class: "page" },
      h("div", { class: "title" }, h("h1", {}, of.title), this.summary),
      this.problem, this.lesson.root, this.list);
    this.title = of.title;
    this.poll = new Poll(() => this.refresh(), EVERY_MS, (problem) => this.refuse(problem));
  }

  close() {
    this.poll.stop();
  }

  async refresh() {
    const entries = (await get(this.of.path))[this.of.name];
    this.problem.hidden = true;
    this.lesson.root.hidden = entries.length > 0;
    reconcile(this.list, entries, this.of.keyOf, (each) => this.view(each), (node, each) => {
      this.views.get(node).update(each);
    });
    setText(this.summary, this.of.inWords(entries));
  }

  view(entry) {
    const view = new this.of.View(entry);
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
