// The page of one table: its state at the top, then one of four tabs, and beside them on a wide
// screen (below them on a phone, as a tab of its own) the changes as they happen.

import { explain } from "../requests/api.js";
import { Browser } from "../keys/browser.js";
import { h, setAttribute, setText } from "../lib/dom.js";
import { Feed } from "./feed.js";
import { Health } from "./health.js";
import { Poll, throttled } from "../lib/poll.js";
import { tableHref } from "../lib/route.js";
import { Schema } from "./schema.js";
import { StatePill } from "./state.js";
import { TableData } from "./tabledata.js";

const STATUS_MS = 2000;
const COMPACTION_MS = 5000;
const AFTER_CHANGE_MS = 500;
const TABS = [["health", "Health"], ["keys", "Keys"], ["schema", "Schema"], ["changes", "Changes"]];

/** Closed when another page is shown. */
export class TablePage {
  constructor(name) {
    this.name = name;
    this.title = name;
    this.data = new TableData(name);
    this.pill = new StatePill();
    this.about = h("p", { class: "muted about" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.health = new Health(name);
    this.browser = new Browser(name);
    this.schema = new Schema(name);
    this.feed = new Feed(name, (change) => this.changed(change));
    this.tabs = new Map(TABS.map(([tab, label]) => [tab, h("a", { href: tableHref(name, tab) }, label)]));
    this.panes = new Map([["health", this.health.root], ["keys", this.browser.root], ["schema", this.schema.root], ["changes", this.feed.root]]);
    this.root = h("div", { class: "page table-page" },
      h("div", { class: "title" }, h("h1", {}, name), this.pill.root, this.about),
      h("nav", { class: "tabs", "aria-label": `Views of ${name}` }, [...this.tabs.values()]),
      this.problem, this.health.root, this.browser.root, this.schema.root, this.feed.root);
    this.polls = [
      new Poll(() => this.refresh(), STATUS_MS),
      new Poll(() => this.refreshCompaction(), COMPACTION_MS),
    ];
    this.refreshSoon = throttled(() => this.polls[0].now(), AFTER_CHANGE_MS);
  }

  /** Show the tab and the key that the address names. */
  show({ tab, address, isNew }) {
    this.root.dataset.tab = tab;
    for (const [name, link] of this.tabs) setAttribute(link, "aria-current", name === tab ? "page" : null);
    this.health.visible(tab === "health");
    this.schema.visible(tab === "schema");
    this.browser.show(tab === "keys", address, isNew);
  }

  close() {
    this.polls.forEach((poll) => poll.stop());
    this.feed.close();
    this.browser.close();
    this.schema.close();
  }

  /** A change arrived: counts and lists follow at once, not at the next round. */
  changed(change) {
    this.refreshSoon();
    this.browser.changed(change);
  }

  async refresh() {
    await this.data.refresh();
    this.update();
  }

  async refreshCompaction() {
    await this.data.refreshCompaction();
    this.health.update(this.data);
  }

  update() {
    const { status, problem } = this.data;
    this.problem.hidden = problem === null;
    setText(this.problem, problem === null ? "" : explain(problem));
    if (!status) return;
    this.pill.update(status);
    const at = status.mount ?? `/tables/${this.name}/keys`;
    setText(this.about, `topic ${status.topic} · at ${at} · ${status.key} → ${status.value}`);
    this.health.update(this.data);
    this.browser.update(status);
    this.schema.update(status);
    this.feed.update(status);
  }
}
