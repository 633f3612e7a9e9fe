// What a log is made of, as a bar: the records that count, those that a later one superseded, and
// the tombstones of deleted keys. The picture of compaction that other tools do not draw.

import { h, setAttribute, setShare, setText } from "../lib/dom.js";
import { count, percent } from "../lib/format.js";

const PARTS = [
  ["current", "live", "current"],
  ["superseded", "superseded", "superseded"],
  ["deletes", "tombstone", "deleted"],
  ["keyless", "bad", "without a key"],
];

/** A bar, with a legend or without. */
export class Makeup {
  constructor({ legend = true } = {}) {
    this.parts = PARTS.map(([name, tone, label]) => ({
      name,
      label,
      segment: h("i", { class: `tone-${tone}` }),
      value: h("b"),
      tone,
    }));
    this.bar = h("div", { class: "makeup", role: "img" }, this.parts.map((part) => part.segment));
    this.entries = this.parts.map((part) =>
      h("li", { class: `tone-${part.tone}` }, h("span", { class: "swatch" }), part.label, part.value));
    this.unknown = h("li", {}, "not counted yet");
    this.legend = h("ul", { class: "legend" }, this.unknown, this.entries);
    this.root = h("div", { class: "makeup-block" }, this.bar, legend ? this.legend : null);
  }

  /** `makeup` as figures.js gives it; null when nothing was counted. */
  update(makeup) {
    this.bar.classList.toggle("unknown", makeup === null);
    this.unknown.hidden = makeup !== null;
    this.parts.forEach((part, i) => {
      const value = makeup?.[part.name] ?? null;
      const share = makeup?.records ? value / makeup.records : 0;
      setShare(part.segment, share);
      // Records without a key are a fault; where there are none, nobody needs to hear of them.
      this.entries[i].hidden = value === null || (part.name === "keyless" && !value);
      setText(part.value, value ? `${count(value)} · ${percent(share)}` : "0");
    });
    const said = makeup === null ? "not counted yet"
      : this.parts.map((part) => `${part.label} ${part.value.textContent}`).join(", ");
    setAttribute(this.bar, "aria-label", `Records in the log: ${said}`);
  }
}
