// Where a key is: in the service's paths, and in the address bar. A key is any bytes; most have a
// text, some only their bytes in base64url, and those of windowed tables also a window.

import { isSegment, tablePath } from "../requests/endpoint.js";

const UNSEEN = /^\s|\s$|[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
// As the service writes them. A link may hold anything; what does not look like this is no address.
const RAW = /^[A-Za-z0-9_-]+$/;
const WINDOW = /^\d{1,19}(-\d{1,19})?$/;

/** A key of a table: `text` or `raw` (base64url), and `window` as the service writes it. */
export class Address {
  constructor({ text = null, raw = null, window = null }) {
    this.text = text;
    this.raw = raw;
    this.window = window;
  }

  /** Of an item of a page or of a change; `isSession` tells how its window is written. */
  static of(item, isSession) {
    const { start, end } = item.window ?? {};
    return new Address({
      text: item.key,
      raw: item.raw_key ?? null,
      window: item.window === undefined ? null : isSession ? `${start}-${end}` : `${start}`,
    });
  }

  /** Of an address bar; null when that names no key. */
  static fromQuery(query) {
    const found = new Address({ text: query.get("key"), raw: query.get("raw"), window: query.get("window") });
    if (found.text === null && found.raw === null) return null;
    if (found.raw !== null && !RAW.test(found.raw)) return null;
    if (found.window !== null && !WINDOW.test(found.window)) return null;
    return found;
  }

  toQuery() {
    const given = { key: this.text, raw: this.text === null || this.window ? this.raw : null, window: this.window };
    return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== null)).toString();
  }

  /** What tells it from every other key of the table. */
  get id() {
    return this.raw ?? `=${this.text}`;
  }

  /** For people: in quotes when spaces or control characters would not be seen. */
  get label() {
    if (this.text === null) return `(bytes) ${this.raw}`;
    return UNSEEN.test(this.text) ? JSON.stringify(this.text) : this.text;
  }

  /** When its window begins, in milliseconds since 1970; null without a window. */
  get windowStart() {
    return this.window === null ? null : Number(this.window.split("-")[0]);
  }

  /** Whether a read or a write of this one key can be asked for: a window needs its key as text. */
  get reachable() {
    return this.window === null || (this.text !== null && isSegment(this.text));
  }

  /** Path of its value. */
  path(table) {
    if (this.window !== null) return tablePath(table, ["windows", this.text, this.window]);
    if (this.text !== null && isSegment(this.text)) return tablePath(table, ["keys", this.text]);
    const raw = this.text === null ? this.raw : btoa(this.text).replaceAll("=", "");
    return tablePath(table, ["keys", raw], { encoding: "base64url" });
  }

  /** Path of its records in the log. */
  logPath(table) {
    return tablePath(table, ["log"], this.raw !== null ? { key: this.raw, encoding: "base64url" } : { key: this.text });
  }
}
