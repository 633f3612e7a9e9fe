// The form that puts and deletes a key: there when the token allows it, and careful not to
// overwrite in silence what somebody else wrote while it was open.

import { Address } from "../lib/address.js";
import { deleteKey, explain, Problem, putValue, Unreachable } from "../requests/api.js";
import { confirmDelete } from "./confirm.js";
import { h, setText } from "../lib/dom.js";
import { keepsNumbers, layOut } from "../lib/json.js";
import { tableHref } from "../lib/route.js";
import { openTokenDialog } from "../requests/token.js";

/** Below the value; `written` is called after every write, `editing` when the form opens or closes. */
export class Editor {
  constructor(table, { written, editing }) {
    this.table = table;
    this.written = written;
    this.editing = editing;
    this.status = null;
    this.address = null;
    this.isNew = false;
    this.isText = false;
    this.isOpen = false;
    this.version = null;
    this.offered = "";
    this.build();
  }

  build() {
    this.key = h("input", { id: "new-key", spellcheck: "false", autocomplete: "off", required: true });
    this.keyField = h("div", { class: "field" }, h("label", { for: "new-key" }, "Key"), this.key);
    this.label = h("label", { for: "new-value" }, "Value");
    this.text = h("textarea", { id: "new-value", rows: 8, spellcheck: "false" });
    this.answer = h("p", { class: "answer", role: "status" });
    this.save = h("button", { type: "submit", class: "primary" }, "Put");
    this.cancel = h("button", { type: "button", class: "quiet", on: { click: () => this.open(false) } }, "Cancel");
    this.edit = h("button", { type: "button", on: { click: () => this.open(true) } }, "Edit value");
    this.remove = h("button", { type: "button", class: "danger", on: { click: () => this.delete() } }, "Delete key");
    this.fields = h("div", { class: "fields" }, this.keyField, h("div", { class: "field" }, this.label, this.text));
    this.form = h("form", { class: "editor", on: { submit: (event) => this.put(event) } },
      this.fields, this.answer, h("div", { class: "buttons" }, this.edit, this.save, this.cancel, this.remove));
    this.readOnly = h("p", { class: "muted read-only" },
      "Reading only. ", h("button", { type: "button", class: "link", on: { click: openTokenDialog } }, "Give a token"), " with write access to change this key.");
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit();
    });
    this.root = h("div", {}, this.form, this.readOnly);
    this.form.hidden = this.readOnly.hidden = true;
  }

  /** Another key, or a new one. */
  begin(address, isNew) {
    this.address = address;
    this.isNew = isNew;
    this.version = null;
    this.offered = "";
    this.text.value = "";
    this.key.value = "";
    this.keyField.hidden = !isNew;
    this.key.required = isNew; // a hidden field must not hold up the form
    setText(this.answer, "");
    this.open(isNew);
    this.allow();
  }

  /** Show the fields, or the value alone; closing takes back what was typed. */
  open(isOpen) {
    this.isOpen = isOpen;
    this.fields.hidden = this.save.hidden = !isOpen;
    this.cancel.hidden = !isOpen || this.isNew;
    this.edit.hidden = isOpen;
    this.remove.hidden = isOpen;
    if (!isOpen) this.text.value = this.offered;
    this.editing(isOpen);
    if (isOpen && !this.isNew) this.text.focus();
  }

  update(status) {
    this.status = status;
    this.isText = status.value === "string";
    setText(this.label, this.isText ? "Value, as text" : status.value === "bytes" ? "Value, bytes in base64 as a JSON text" : "Value, as JSON");
    this.allow();
  }

  allow() {
    const mayWrite = this.status !== null && this.status.access !== "read" && (this.isNew || (this.address?.reachable ?? false));
    this.form.hidden = !mayWrite;
    this.readOnly.hidden = mayWrite || this.status === null || (!this.address && !this.isNew);
    if (!keepsNumbers) this.save.disabled = true;
    if (mayWrite && !keepsNumbers) setText(this.answer, "This browser would round large numbers; use a newer one to write.");
  }

  /** The value as it is now. What was typed stays; a version that appeared meanwhile is told. */
  offer(text, version) {
    const isTouched = this.text.value !== this.offered;
    const isNews = this.version !== null && version !== this.version;
    if (isTouched && isNews) {
      setText(this.answer, `Changed by somebody else meanwhile (now ${version ?? "deleted"}). Putting overwrites that.`);
    } else if (!isTouched) {
      this.offered = text === null ? "" : this.isText ? JSON.parse(text) : layOut(text);
      this.text.value = this.offered;
    }
    this.version = version;
  }

  async put(event) {
    event.preventDefault();
    const address = this.isNew ? new Address({ text: this.key.value }) : this.address;
    const body = this.isText ? JSON.stringify(this.text.value) : this.text.value;
    const done = await this.attempt(() => putValue(address.path(this.table), body), "Written as version");
    if (!done) return;
    this.offered = this.text.value;
    if (!this.isNew) this.open(false);
    if (this.isNew) location.hash = tableHref(this.table, "keys", address);
    else this.written();
  }

  async delete() {
    if (!(await confirmDelete(this.address.label))) return;
    const address = this.address;
    if (await this.attempt(() => deleteKey(address.path(this.table)), "Deleted; the tombstone is version")) {
      this.offered = this.text.value = "";
      this.written();
    }
  }

  async attempt(write, done) {
    this.save.disabled = this.remove.disabled = true;
    setText(this.answer, "Writing…");
    this.answer.classList.remove("problem");
    try {
      const { version } = await write();
      this.version = version;
      setText(this.answer, `${done} ${version}.`);
      return true;
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
      this.answer.classList.add("problem");
      setText(this.answer, explain(error));
      return false;
    } finally {
      this.save.disabled = this.remove.disabled = !keepsNumbers;
    }
  }
}
