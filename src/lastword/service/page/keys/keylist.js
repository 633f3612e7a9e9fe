// A page of keys with the beginning of their values. Rows stay where they are while their
// figures change, and light up for a moment when they do.

import { Address } from "../lib/address.js";
import { now } from "../lib/clock.js";
import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { ago, dateTime, timeOfDay } from "../lib/format.js";
import { brief } from "../lib/json.js";
import { tableHref } from "../lib/route.js";

const COLUMNS = ["Key", "Value", "Version", "Changed"];

/** A table of keys. */
export class KeyList {
  constructor(table) {
    this.table = table;
    this.isSession = false;
    this.selected = null;
    this.rows = h("tbody");
    this.empty = h("p", { class: "empty", hidden: true });
    this.body = h("table", { class: "data keys-table" },
      h("thead", {}, h("tr", {}, COLUMNS.map((label) => h("th", { scope: "col" }, label)))),
      this.rows);
    this.root = h("div", { class: "panel flush", "aria-busy": "true" }, this.body, this.empty);
    this.rows.addEventListener("keydown", (event) => this.step(event));
    this.rows.addEventListener("click", (event) => open(event));
  }

  busy(isBusy) {
    setAttribute(this.root, "aria-busy", isBusy ? "true" : "false");
  }

  select(address) {
    this.selected = address?.id ?? null;
    for (const row of this.rows.rows) setAttribute(row, "aria-current", row.dataset.id === this.selected ? "true" : null);
  }

  update(items, otherwise) {
    this.empty.hidden = items.length > 0;
    setText(this.empty, items.length ? "" : otherwise);
    const addressed = items.map((item) => ({ item, address: Address.of(item, this.isSession) }));
    reconcile(this.rows, addressed, ({ address }) => address.id, (each) => this.row(each), (node, { item }) => fill(node, item));
  }

  row({ item, address }) {
    const link = h("a", { href: tableHref(this.table, "keys", address) }, address.label);
    const window = item.window === undefined ? null : h("span", { class: "window" }, windowText(item.window));
    return h("tr", { "data-id": address.id },
      h("th", { scope: "row", class: "mono" }, link, window),
      h("td", { class: "mono value" }), h("td", { class: "mono version" }), h("td", { class: "when" }));
  }

  /** Up and down go from key to key. */
  step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr");
    const next = by === 1 ? row?.nextElementSibling : by === -1 ? row?.previousElementSibling : null;
    if (!next) return;
    event.preventDefault();
    next.querySelector("a").focus();
  }
}

function open(event) {
  // A click anywhere in the row, unless it ends a selection of text.
  if (event.target.closest("a") || String(getSelection())) return;
  event.target.closest("tr")?.querySelector("a").click();
}

function fill(node, item) {
  const [, value, version, when] = node.cells;
  const isChanged = version.textContent && version.textContent !== item.version;
  setText(value, item.error === undefined ? brief(item.value) : `cannot be read: ${item.error}`);
  value.classList.toggle("problem", item.error !== undefined);
  setText(version, item.version);
  setText(when, ago(item.timestamp, now()));
  setAttribute(when, "title", dateTime(item.timestamp));
  if (isChanged) light(node);
}

function light(node) {
  node.classList.remove("changed");
  requestAnimationFrame(() => node.classList.add("changed"));
}

/** The time of a window in words. */
export function windowText({ start, end }) {
  return `${dateTime(start)} – ${timeOfDay(end)}`;
}
