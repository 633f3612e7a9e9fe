// All tables side by side, and the instances that serve them: the page for the wall.

import { explain, get } from "../requests/api.js";
import { Card } from "./card.js";
import { h, reconcile, setText } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { Instances } from "./instances.js";
import { Poll } from "../lib/poll.js";
import { TableData } from "../table/tabledata.js";

const EVERY_MS = 4000;

/** The first page. Closed when another one is shown. */
export class Overview {
  constructor() {
    this.known = new Map();
    this.cards = h("ul", { class: "cards" }, [1, 2, 3].map(() => h("li", { class: "panel card skeleton", "aria-hidden": true })));
    this.summary = h("p", { class: "muted", role: "status" });
    this.empty = h("p", { class: "empty", hidden: true });
    this.instances = new Instances();
    this.root = h("div", { class: "page" },
      h("div", { class: "title" }, h("h1", {}, "Tables"), this.summary),
      this.empty, this.cards, this.instances.root);
    this.title = "Tables";
    this.poll = new Poll(() => this.refresh(), EVERY_MS, (problem) => this.refuse(problem));
  }

  close() {
    this.poll.stop();
    this.instances.close();
  }

  async refresh() {
    const { tables } = await get("/tables");
    const names = tables.map((table) => table.name);
    for (const name of names) if (!this.known.has(name)) this.known.set(name, this.entry(name));
    for (const name of this.known.keys()) if (!names.includes(name)) this.known.delete(name);
    this.arrange(names);
    this.say(names.length ? "" : "No table can be read here. Serve one: lastword serve user-profiles");
    await Promise.all([...this.known.values()].map((entry) => this.fill(entry)));
    this.sum();
  }

  arrange(names) {
    this.cards.querySelectorAll(".skeleton").forEach((node) => node.remove());
    reconcile(this.cards, names, (name) => name, (name) => this.known.get(name).card.root, () => {});
  }

  refuse(problem) {
    this.known.clear();
    this.arrange([]);
    setText(this.summary, "");
    this.say(problem.status === 401
      ? "This service asks for a token before it shows anything. Give it one with the button at the top."
      : explain(problem));
  }

  say(text) {
    this.empty.hidden = !text;
    setText(this.empty, text);
  }

  entry(name) {
    return { data: new TableData(name), card: new Card(name) };
  }

  async fill({ data, card }) {
    // The state is there at once; what the cluster has to be asked for may take a second.
    await data.refresh();
    card.update(data);
    await data.refreshCompaction();
    card.update(data);
  }

  sum() {
    const states = [...this.known.values()].map(({ data }) => data.status).filter(Boolean);
    const keys = states.reduce((all, status) => all + status.keys, 0);
    const lag = states.reduce((all, status) => all + status.lag, 0);
    const waiting = states.filter((status) => !status.ready).length;
    const parts = [`${states.length} ${states.length === 1 ? "table" : "tables"}`, `${count(keys)} keys`];
    parts.push(lag ? `${count(lag)} records behind` : "nothing behind");
    if (waiting) parts.push(`${waiting} not ready`);
    setText(this.summary, parts.join(" · "));
  }
}
