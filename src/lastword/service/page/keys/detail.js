// One key: its value, its version and time, the records of it that are still in the log, and the
// form to change it.

import { explain, getRecords, getValue, Problem, Unreachable } from "../requests/api.js";
import { now } from "../lib/clock.js";
import { h, setText } from "../lib/dom.js";
import { Editor } from "./editor.js";
import { ago, dateTime } from "../lib/format.js";
import { History } from "./history.js";
import { layOut, parseExactly, pieces } from "../lib/json.js";
import { throttled } from "../lib/poll.js";
import { tableHref } from "../lib/route.js";

const REFRESH_MS = 1000;
// Colouring a large document would hold up the page; it is shown plain, and then cut.
const COLOURED_MAX = 50_000;
const SHOWN_MAX = 500_000;

/** The panel beside the list of keys. */
export class Detail {
  constructor(table) {
    this.table = table;
    this.address = null;
    this.isNew = false;
    this.key = h("h2", { class: "mono key-name" });
    this.facts = h("p", { class: "muted" });
    this.value = h("pre", { class: "value-block", tabindex: 0, "aria-label": "Value" });
    this.history = new History();
    this.editor = new Editor(table, {
      written: () => this.load(),
      editing: (isEditing) => (this.value.hidden = isEditing),
    });
    this.root = h("aside", { class: "panel detail", hidden: true, "aria-label": "Key" },
      h("a", { class: "back", href: tableHref(table, "keys") }, "← All keys"),
      this.key, this.facts, this.value, this.editor.root, this.history.root);
    this.refreshSoon = throttled(() => this.address && this.load(), REFRESH_MS);
  }

  /** The key to show, or null; `isNew` opens an empty form instead. */
  show(address, isNew) {
    const isSame = address?.id === this.address?.id && address?.window === this.address?.window && isNew === this.isNew;
    this.root.hidden = address === null && !isNew;
    if (isSame) return;
    this.address = address;
    this.isNew = isNew;
    setText(this.key, isNew ? "New key" : address?.label ?? "");
    setText(this.facts, "");
    this.value.replaceChildren();
    this.history.clear();
    this.editor.begin(address, isNew);
    if (address) this.load();
  }

  update(status) {
    this.editor.update(status);
  }

  /** This key changed, or may have. */
  changed() {
    this.refreshSoon();
  }

  async load() {
    const address = this.address;
    if (!address) return;
    const isCurrent = () => address === this.address;
    await Promise.all([this.loadValue(address, isCurrent), this.loadHistory(address, isCurrent)]);
  }

  async loadValue(address, isCurrent) {
    try {
      if (!address.reachable) throw new Unreachable("This key has no text; only the list and the log show it.");
      const found = await getValue(address.path(this.table));
      if (isCurrent()) this.fill(found);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
      if (isCurrent()) this.absent(error);
    }
  }

  async loadHistory(address, isCurrent) {
    try {
      const found = await getRecords(address.logPath(this.table));
      if (isCurrent()) this.history.update(found);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
      if (isCurrent()) this.history.fail(explain(error));
    }
  }

  fill({ text, version, timestamp }) {
    const start = this.address.windowStart;
    const window = start === null ? "" : `window from ${dateTime(start)} · `;
    setText(this.facts, `${window}version ${version} · ${ago(timestamp, now())}, ${dateTime(timestamp)}`);
    if (this.shown !== version + this.address.id) {
      this.shown = version + this.address.id;
      this.value.replaceChildren(...laidOut(text));
    }
    this.editor.offer(text, version);
  }

  absent(error) {
    this.shown = null;
    const isGone = error.kind === "KeyNotFound";
    setText(this.facts, isGone ? "not in the table" : explain(error));
    this.value.replaceChildren(h("span", { class: "muted" }, isGone ? "There is no value: it was never written, was deleted, or cannot be read." : ""));
    this.editor.offer(null, null);
  }
}

/** The value over lines and in colours; as plain text when it is large. */
function laidOut(text) {
  if (text.length > COLOURED_MAX) {
    const rest = text.length - SHOWN_MAX;
    return [text.slice(0, SHOWN_MAX), rest > 0 ? h("span", { class: "muted" }, `\n… and ${rest.toLocaleString("en")} more characters`) : ""];
  }
  try {
    return [...pieces(parseExactly(text), 2)].map(([kind, piece]) => h("span", { class: `json-${kind}` }, piece));
  } catch {
    return [layOut(text)]; // too deep for colours
  }
}
