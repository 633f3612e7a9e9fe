// The ways to find keys. Keys are sorted by their bytes, so a beginning is found at once; anything
// in the middle has to be looked for page by page, and says how far it has looked.

import { getRecords } from "../requests/api.js";
import { isSegment, tablePath } from "../requests/endpoint.js";
import { brief } from "../lib/json.js";

export const MODES = [
  ["prefix", "Begins with"],
  ["contains", "Contains"],
  ["exact", "Is exactly"],
  ["from", "From … on"],
];

const PAGE = 50;
const SCANNED_PAGE = 500;
const SCANNED_MAX = 10_000;

/** One search: asked for page after page by the cursor of the one before. */
export class Search {
  constructor(table, { mode = "prefix", text = "", isWindowed = false } = {}) {
    this.table = table;
    this.mode = mode;
    this.text = text;
    this.isWindowed = isWindowed;
  }

  /** Whether asking again costs little, so that the list may follow every change. */
  get isCheap() {
    return this.mode !== "contains" || !this.text;
  }

  /** {items, next, note}: `next` is a cursor or null, `note` says what a reader should know. */
  async page(cursor) {
    if (!this.text) return this.keys({}, cursor);
    if (this.mode === "prefix") return this.keys({ prefix: this.text }, cursor);
    if (this.mode === "from") return this.keys({ from: this.text }, cursor);
    if (this.mode === "exact") return this.exact(cursor);
    return this.contains(cursor);
  }

  async keys(query, cursor, limit = PAGE) {
    const parameters = { ...query, limit, stale: "true", ...(cursor ? { cursor } : {}) };
    const page = await getRecords(tablePath(this.table, ["keys"], parameters));
    return { items: page.items, next: page.next, note: page.stale ? "This may be behind: the table is not caught up." : "" };
  }

  async exact(cursor) {
    if (this.isWindowed) {
      if (!isSegment(this.text)) return { items: [], next: null, note: "No path can name this key; look for its beginning instead." };
      const parameters = { limit: PAGE, stale: "true", ...(cursor ? { cursor } : {}) };
      const page = await getRecords(tablePath(this.table, ["windows", this.text], parameters));
      return { items: page.items, next: page.next, note: "" };
    }
    const found = await this.keys({ from: this.text }, null, 1);
    return { items: found.items.filter((item) => item.key === this.text), next: null, note: found.note };
  }

  async contains(cursor) {
    const wanted = this.text.toLowerCase();
    const fits = (item) => (item.key ?? "").toLowerCase().includes(wanted)
      || brief(item.value, Infinity).toLowerCase().includes(wanted);
    const items = [];
    let next = cursor;
    let scanned = 0;
    do {
      const page = await this.keys({}, next, SCANNED_PAGE);
      items.push(...page.items.filter(fits));
      scanned += page.items.length;
      next = page.next;
    } while (next !== null && items.length < PAGE && scanned < SCANNED_MAX);
    const looked = `Looked through ${scanned.toLocaleString("en")} keys and their values`;
    return { items, next, note: next === null ? `${looked}, to the end.` : `${looked}; the next page looks on.` };
  }
}
