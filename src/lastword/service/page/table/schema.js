// The schema of a table's values: its versions, how many live keys hold which, and their texts.

import { explain, get, Problem, send, Unreachable } from "../requests/api.js";
import { tablePath } from "../requests/endpoint.js";
import { now } from "../lib/clock.js";
import { h, reconcile, setAttribute, setShare, setText } from "../lib/dom.js";
import { ago, count, exact, percent, plural } from "../lib/format.js";
import { Poll } from "../lib/poll.js";

const REFRESH_MS = 5000;
const WHILE_COUNTING_MS = 500;
const KINDS = { AVRO: "Avro", JSON: "JSON Schema", PROTOBUF: "Protobuf" };

/** A tab of a table's page; it asks only while it is seen. */
export class Schema {
  constructor(name) {
    this.name = name;
    this.document = null;
    this.chosen = null;
    this.isCounting = false;
    this.mayCount = false;
    this.failure = null;
    this.about = h("p", { class: "muted" });
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.counted = h("span", { class: "muted", role: "status" });
    this.button = h("button", { type: "button", hidden: true, on: { click: () => this.count() } }, "Count now");
    this.list = h("ul", { class: "versions" });
    this.title = h("h2");
    this.text = h("pre", { class: "schema-text mono", tabindex: "0", "aria-label": "Schema" });
    this.shown = h("section", { class: "panel schema-shown", hidden: true }, this.title, this.text);
    this.root = h("div", { class: "pane schema" },
      this.problem,
      h("section", { class: "panel" },
        h("div", { class: "heading" },
          h("h2", {}, "Versions"), h("div", { class: "survey" }, this.counted, this.button)),
        this.about, this.list),
      this.shown);
    this.poll = null;
  }

  visible(isVisible) {
    if (isVisible === (this.poll !== null)) return;
    this.poll?.stop();
    this.poll = isVisible ? new Poll(() => this.refresh(), REFRESH_MS) : null;
  }

  close() {
    this.visible(false);
  }

  /** What the caller may do, from the state of the table. */
  update(status) {
    this.mayCount = status.access === "admin";
    this.draw();
  }

  async refresh() {
    await this.attempt(async () => {
      this.document = await get(tablePath(this.name, ["schema"]));
    });
  }

  async count() {
    this.isCounting = this.button.disabled = true;
    const progress = new Poll(() => this.refresh(), WHILE_COUNTING_MS);
    await this.attempt(async () => {
      const options = { method: "POST", timeout: null };
      this.document = await (await send(tablePath(this.name, ["schema", "count"]), options)).json();
    });
    progress.stop();
    this.isCounting = this.button.disabled = false;
    this.draw();
  }

  async attempt(task) {
    try {
      await task();
      this.failure = null;
    } catch (error) {
      // No answer is the banner's matter.
      if (error instanceof Problem) this.failure = error;
      else if (!(error instanceof Unreachable)) throw error;
    }
    this.draw();
  }

  draw() {
    const wrong = this.failure ?? this.document?.problem ?? null;
    this.problem.hidden = wrong === null;
    setText(this.problem, wrong === null ? "" : explain(wrong));
    if (this.document === null) return;
    const { codec, subject, versions, versioned } = this.document;
    const kind = KINDS[versions.at(-1)?.kind];
    setText(this.about, versions.length === 0 ? `${codec} values have no schema here.`
      : `${kind ?? codec}${subject === null ? "" : ` · subject ${subject}`} · ${plural(versions.length, "known version")}`);
    this.button.hidden = !versioned || !this.mayCount;
    setText(this.counted, this.countedText());
    this.drawVersions();
    this.drawText();
  }

  countedText() {
    const { counts, counting, keys, versioned } = this.document;
    if (!versioned) return "";
    if (counting !== null || this.isCounting) return `counting… ${exact(counting ?? 0)} of ${exact(keys)} keys`;
    return counts === null ? "The keys of a large table are counted on request." : `counted ${ago(counts.counted, now())}`;
  }

  drawVersions() {
    const rows = rowsOf(this.document);
    reconcile(this.list, rows, (row) => row.id, (row) => versionRow(() => this.choose(row.id)), (node, row) => {
      const [button, bar, figure] = node.children;
      setText(button.firstChild, row.label);
      setText(button.children[1], row.note);
      button.children[2].hidden = !row.newest;
      button.disabled = row.text === null;
      setAttribute(button, "aria-pressed", row.text === null ? null : String(row.id === this.current()?.id));
      setShare(bar.firstChild, row.share ?? 0);
      setText(figure, row.keys === null ? "not counted" : `${count(row.keys)} ${row.keys === 1 ? "key" : "keys"} · ${percent(row.share)}`);
      setAttribute(figure, "title", row.keys === null ? null : exact(row.keys));
    });
    this.list.hidden = rows.length === 0;
  }

  choose(id) {
    this.chosen = id;
    this.draw();
  }

  /** The version whose text is shown: the chosen one, else the newest that has a text. */
  current() {
    const rows = rowsOf(this.document).filter((row) => row.text !== null);
    return rows.find((row) => row.id === this.chosen) ?? rows[0] ?? null;
  }

  drawText() {
    const row = this.current();
    this.shown.hidden = row === null;
    if (row === null) return;
    setText(this.title, row.label);
    setText(this.text, pretty(row.text));
  }
}

function versionRow(choose) {
  return h("li", {},
    h("button", { type: "button", class: "version", on: { click: choose } }, h("b"), h("span", { class: "muted" }), h("span", { class: "badge" }, "newest")),
    h("div", { class: "share", role: "presentation" }, h("i")),
    h("span", { class: "version-keys" }));
}

/** Known versions and those that keys hold, the newest first. */
function rowsOf({ versions, counts }) {
  const rows = new Map();
  const at = (version, id) => {
    const key = `${version}/${id}`;
    if (!rows.has(key)) {
      rows.set(key, {
        id: key, number: version ?? -1, text: null, newest: false,
        label: version === null ? "Unknown version" : `Version ${version}`,
        note: id === null ? "" : `id ${id}`,
        keys: counts === null ? null : 0, share: 0,
      });
    }
    return rows.get(key);
  };
  for (const each of versions) at(each.version, each.schema_id).text = each.text;
  const total = counts === null ? 0 : counts.unreadable + counts.versions.reduce((sum, each) => sum + each.keys, 0);
  for (const each of counts?.versions ?? []) {
    Object.assign(at(each.version, each.schema_id), { keys: each.keys, newest: each.newest, share: each.keys / total });
  }
  const last = versions.at(-1);
  if (last) at(last.version, last.schema_id).newest = true;
  const found = [...rows.values()].sort((a, b) => b.number - a.number);
  if (counts?.unreadable) {
    found.push({ id: "unreadable", number: -2, text: null, newest: false, label: "No version", note: "cannot be read", keys: counts.unreadable, share: counts.unreadable / total });
  }
  return found;
}

/** JSON on many lines; any other text as it is. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
