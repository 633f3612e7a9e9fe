// Where a key is: in the service's paths, and in the address bar. A key is any bytes; most have a
// text, some only their bytes in base64url, and those of windowed tables also a window.

const UNSEEN = /^\s|\s$|[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

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

  static fromQuery(query) {
    const found = new Address({ text: query.get("key"), raw: query.get("raw"), window: query.get("window") });
    return found.text === null && found.raw === null ? null : found;
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
    return this.window === null || (this.text !== null && !isDots(this.text));
  }

  /** Path of its value. */
  path(table) {
    const base = `/tables/${encodeURIComponent(table)}`;
    if (this.window !== null) return `${base}/windows/${encodeURIComponent(this.text)}/${this.window}`;
    if (this.text !== null) return `${base}/keys/${escapeKey(this.text)}`;
    return `${base}/keys/${this.raw}?encoding=base64url`;
  }

  /** Path of its records in the log. */
  logPath(table) {
    const query = this.raw !== null ? { key: this.raw, encoding: "base64url" } : { key: this.text };
    return `/tables/${encodeURIComponent(table)}/log?${new URLSearchParams(query)}`;
  }
}

// A browser takes the segments `.` and `..` out of a path, escaped or not, before it sends it.
function isDots(text) {
  return text === "." || text === "..";
}

function escapeKey(text) {
  if (!isDots(text)) return encodeURIComponent(text);
  return `${btoa(text).replaceAll("=", "")}?encoding=base64url`;
}
