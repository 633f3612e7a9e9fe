// The changes of a table as they happen. Shows the last of them; how many there were is counted,
// so that a flood is seen as a flood and not as its last drops.

import { Address } from "../lib/address.js";
import { explain } from "../requests/api.js";
import { h, setAttribute, setText } from "../lib/dom.js";
import { count, dateTime, exact, timeOfDay } from "../lib/format.js";
import { brief } from "../lib/json.js";
import { throttled } from "../lib/poll.js";
import { tableHref } from "../lib/route.js";
import { Watch } from "../requests/watch.js";

const SHOWN = 100;
const DRAW_MS = 200;
const STATES = {
  connecting: ["connecting", "busy"],
  live: ["watching", "good"],
  waiting: ["reconnecting", "warn"],
  refused: ["stopped", "bad"],
};

/** Watches one table until closed; `changed` is told of every change, and with null when some may have been missed. */
export class Feed {
  constructor(table, changed) {
    this.table = table;
    this.isSession = false;
    this.isPaused = false;
    this.waiting = [];
    this.seen = 0;
    this.word = "";
    this.pill = h("span", { class: "pill" });
    this.pause = h("button", { type: "button", "aria-pressed": "false", on: { click: () => this.toggle() } }, "Pause");
    this.note = h("p", { class: "muted", role: "status", hidden: true });
    this.list = h("ol", { class: "feed", "aria-label": "Changes, newest first" });
    this.empty = h("p", { class: "empty" }, "Nothing has changed since you came. Changes appear here as they happen.");
    this.root = h("section", { class: "pane panel changes", "aria-label": "Live changes" },
      h("div", { class: "heading" }, h("h2", {}, "Changes"), this.pill, this.pause),
      this.note, this.list, this.empty);
    this.drawSoon = throttled(() => this.draw(), DRAW_MS);
    this.watch = null;
    this.listeners = {
      change: (kind, data) => { this.take({ kind, data }); changed(data); },
      gap: (why) => { this.take({ kind: "gap", why }); changed(null); },
      began: () => changed(null),
      state: (word, detail) => this.state(word, detail),
    };
  }

  close() {
    this.watch?.close();
  }

  /** A table that restores refuses watchers, so the watch begins when it is ready. */
  update(status) {
    this.isSession = status.key.startsWith("session");
    if (status.ready) this.watch ??= new Watch(this.table, this.listeners);
  }

  state(word, detail) {
    const [label, tone] = STATES[word];
    this.word = label;
    setAttribute(this.pill, "data-tone", tone);
    this.count();
    setText(this.note, detail ? explain(detail) : "");
    this.note.hidden = !detail;
  }

  count() {
    setText(this.pill, this.seen ? `${this.word} · ${count(this.seen)}` : this.word);
    this.pill.title = `${exact(this.seen)} changes since you came`;
  }

  take(event) {
    this.seen += event.kind === "gap" ? 0 : 1;
    this.waiting.push(event);
    if (this.waiting.length > SHOWN) this.waiting.shift();
    this.drawSoon();
  }

  toggle() {
    this.isPaused = !this.isPaused;
    setText(this.pause, this.isPaused ? "Go on" : "Pause");
    setAttribute(this.pause, "aria-pressed", String(this.isPaused));
    this.draw();
  }

  draw() {
    this.count();
    if (this.isPaused) return;
    this.empty.hidden = this.seen > 0;
    const rows = this.waiting.map((event) => this.row(event)).reverse();
    this.waiting = [];
    this.list.prepend(...rows);
    while (this.list.children.length > SHOWN) this.list.lastElementChild.remove();
  }

  row({ kind, data, why }) {
    if (kind === "gap") return h("li", { class: "gap" }, why);
    const address = Address.of(data, this.isSession);
    const isPut = kind === "put";
    const value = !isPut ? null : h("div", { class: "mono feed-value" }, data.error === undefined ? brief(data.value) : `cannot be read: ${data.error}`);
    return h("li", {},
      h("div", { class: "record-head" },
        h("span", { class: "pill", "data-tone": isPut ? "good" : "warn" }, kind),
        h("a", { class: "mono", href: tableHref(this.table, "keys", address) }, address.label),
        h("time", { class: "muted", title: data.timestamp === undefined ? "its tombstone is gone from the log" : dateTime(data.timestamp) },
          data.timestamp === undefined ? "found by a sweep" : timeOfDay(data.timestamp)),
        h("span", { class: "muted mono" }, data.version ?? "")),
      value);
  }
}
