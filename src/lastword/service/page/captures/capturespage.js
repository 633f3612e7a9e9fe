// The database tables that are captured: where they come from, how far behind they are, and what
// the database keeps for them.

import { explain, get } from "../requests/api.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { Poll } from "../lib/poll.js";
import { CaptureLesson } from "./capturelesson.js";
import { CaptureView } from "./captureview.js";

const EVERY_MS = 2000;

/** The page. Closed when another one is shown. */
export class CapturesPage {
  constructor() {
    this.views = new Map();
    this.list = h("div", { class: "captures" });
    this.summary = h("p", { class: "muted", role: "status" });
    this.problem = h("p", { class: "empty", hidden: true });
    this.lesson = new CaptureLesson();
    this.root = h("div", { class: "page" },
      h("div", { class: "title" }, h("h1", {}, "Captures"), this.summary),
      this.problem, this.lesson.root, this.list);
    this.title = "Captures";
    this.poll = new Poll(() => this.refresh(), EVERY_MS, (problem) => this.refuse(problem));
  }

  close() {
    this.poll.stop();
  }

  async refresh() {
    const { captures } = await get("/captures");
    this.problem.hidden = true;
    this.lesson.root.hidden = captures.length > 0;
    reconcile(this.list, captures, (each) => each.capture, (each) => this.view(each), (node, each) => {
      this.views.get(node).update(each);
    });
    setText(this.summary, captures.length ? plural(captures.length, "captured table") : "");
  }

  view(capture) {
    const view = new CaptureView(capture);
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
