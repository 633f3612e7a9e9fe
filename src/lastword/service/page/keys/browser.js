// The key browser: a search, a page of keys, and beside it the key that is being looked at.

import { Address } from "../lib/address.js";
import { explain, Problem, Unreachable } from "../requests/api.js";
import { Detail } from "./detail.js";
import { h, setText } from "../lib/dom.js";
import { KeyList } from "./keylist.js";
import { throttled } from "../lib/poll.js";
import { newKeyHref } from "../lib/route.js";
import { MODES, Search } from "./search.js";

const REFRESH_MS = 700;

/** The second tab of a table's page. */
export class Browser {
  constructor(table) {
    this.table = table;
    this.status = null;
    this.search = null;
    this.cursors = [null];
    this.isVisible = false;
    this.asked = 0;
    this.shown = 0;
    this.detail = new Detail(table);
    this.list = new KeyList(table);
    this.build();
    this.refreshSoon = throttled(() => this.isVisible && this.load(), REFRESH_MS);
  }

  build() {
    this.mode = h("select", { "aria-label": "How to search" }, MODES.map(([value, label]) => h("option", { value }, label)));
    this.text = h("input", { type: "search", id: "search", placeholder: "Search keys", "aria-label": "Search keys", spellcheck: "false", autocomplete: "off" });
    this.note = h("p", { class: "muted", role: "status" });
    this.previous = h("button", { type: "button", on: { click: () => this.turn(-1) } }, "Previous");
    this.next = h("button", { type: "button", on: { click: () => this.turn(1) } }, "Next");
    this.page = h("span", { class: "muted" });
    this.newKey = h("a", { class: "button", href: newKeyHref(this.table), hidden: true }, "New key");
    const form = h("form", { class: "search", role: "search", on: { submit: (event) => this.submit(event) } },
      this.mode, this.text, h("button", { type: "submit", class: "primary" }, "Search"), this.newKey);
    // Clearing the box brings the whole list back; so does typing, after a moment.
    this.text.addEventListener("input", throttled(() => this.mode.value !== "contains" && this.start(), 250));
    this.mode.addEventListener("change", () => this.start());
    this.root = h("div", { class: "pane keys" },
      h("div", { class: "key-list" }, form, this.note, this.list.root,
        h("div", { class: "pager" }, this.previous, this.page, this.next)),
      this.detail.root);
  }

  /** Show or hide the tab, with the key that the address names. */
  show(isVisible, address, isNew) {
    const appears = isVisible && !this.isVisible;
    this.isVisible = isVisible;
    if (!isVisible) return;
    this.root.classList.toggle("has-detail", address !== null || isNew);
    this.list.select(address);
    this.detail.show(address, isNew);
    if (appears && this.status) this.load();
  }

  /** What the table is: how its windows are written, and what the token allows. */
  update(status) {
    const isFirst = this.status === null;
    this.status = status;
    this.newKey.hidden = status.access === "read" || status.windowed;
    this.list.isSession = status.key.startsWith("session");
    this.detail.update(status);
    if (!isFirst) return;
    this.search = new Search(this.table, { isWindowed: status.windowed });
    if (this.isVisible) this.load();
  }

  /** The page in view follows every change; the key in view only its own, for a history is a pass over the log. */
  changed(change) {
    if (!this.isVisible) return;
    if (this.search?.isCheap) this.refreshSoon();
    const id = change === null ? null : Address.of(change, this.list.isSession).id;
    if (id === null || id === this.detail.address?.id) this.detail.changed();
  }

  close() {
    this.isVisible = false;
  }

  submit(event) {
    event.preventDefault();
    this.start();
  }

  start() {
    this.search = new Search(this.table, { mode: this.mode.value, text: this.text.value, isWindowed: this.status?.windowed ?? false });
    this.cursors = [null];
    this.load();
  }

  turn(by) {
    if (by > 0) this.cursors.push(this.following);
    else this.cursors.pop();
    this.load();
  }

  async load() {
    const search = this.search;
    const cursor = this.cursors.at(-1);
    const asked = ++this.asked;
    this.list.busy(true);
    let found;
    try {
      found = await search.page(cursor);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
      found = { items: [], next: null, note: explain(error) };
    }
    // Somebody may have searched for something else or turned the page meanwhile.
    if (search !== this.search || cursor !== this.cursors.at(-1)) return;
    // Of two answers to one question the later one is true, whichever arrives first.
    if (asked < this.shown) return;
    this.shown = asked;
    this.fill(found);
  }

  fill({ items, next, note }) {
    this.list.busy(false);
    this.list.update(items, this.search.text ? "No key matches." : "No keys yet. Everything that is put into the table appears here.");
    this.following = next;
    setText(this.note, note);
    this.previous.disabled = this.cursors.length === 1;
    this.next.disabled = next === null;
    setText(this.page, `Page ${this.cursors.length}`);
    this.previous.parentElement.hidden = this.cursors.length === 1 && next === null;
    this.list.select(this.detail.address instanceof Address ? this.detail.address : null);
  }
}
