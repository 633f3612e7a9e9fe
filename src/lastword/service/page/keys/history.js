// The records of one key that compaction has not removed yet, the newest first.

import { now } from "../lib/clock.js";
import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { ago, dateTime, exact, plural } from "../lib/format.js";
import { brief } from "../lib/json.js";

/** A list of records with their versions and times. */
export class History {
  constructor() {
    this.note = h("p", { class: "muted" });
    this.list = h("ol", { class: "history" });
    this.root = h("section", { class: "history-block" }, h("h3", {}, "Still in the log"), this.note, this.list);
    this.clear();
  }

  clear() {
    this.root.hidden = true;
    reconcile(this.list, [], () => null, () => null, () => {});
  }

  fail(message) {
    this.root.hidden = false;
    setText(this.note, message);
  }

  update({ records, complete, partition, searched_to: reached }) {
    this.root.hidden = false;
    const searched = complete ? "" : ` Time ran out at offset ${exact(reached)}: there may be newer ones.`;
    setText(this.note, `${plural(records.length, "record")} in partition ${partition}.${searched}`);
    const newest = records.toReversed();
    reconcile(this.list, newest, (record) => record.version, entry, (node, record, index) => {
      const [head, value] = node.children;
      setText(head.children[0], record.version);
      setText(head.children[1], ago(record.timestamp, now()));
      setAttribute(head.children[1], "title", dateTime(record.timestamp));
      setText(head.children[2], index === 0 && complete ? (record.tombstone ? "deleted" : "current") : record.tombstone ? "tombstone" : "superseded");
      setAttribute(head.children[2], "data-tone", record.tombstone ? "warn" : index === 0 && complete ? "good" : "dull");
      setText(value, text(record));
      value.hidden = record.tombstone;
    });
  }
}

function text(record) {
  if (record.tombstone) return "";
  return record.error === undefined ? brief(record.value, 2000) : `cannot be read: ${record.error} (base64 ${record.raw_value})`;
}

function entry() {
  return h("li", {},
    h("div", { class: "record-head" }, h("span", { class: "mono" }), h("span", { class: "muted" }), h("span", { class: "pill" })),
    h("div", { class: "mono record-value" }));
}
