// What the page says where nothing is captured: what a capture is, and how to begin.

import { h } from "../lib/dom.js";

const SETTINGS = `[cdc.orders]
url = "postgresql://shop@localhost/shop"   # the password: PGPASSWORD or ~/.pgpass
table = "public.orders"`;

/** The empty state. */
export class CaptureLesson {
  constructor() {
    this.root = h("section", { class: "panel lesson", hidden: true },
      h("h2", {}, "No database table is captured here"),
      h("p", {}, "A capture keeps a table equal to a table of a PostgreSQL database: Debezium reads the database's log, and a",
        " pipeline applies every change."),
      h("pre", { class: "mono" }, SETTINGS),
      h("p", { class: "muted" }, "Put this into lastword.toml and start `lastword up`. This page then shows the source, the lag, how much of",
        " its log the database keeps for the capture, the last event, and changes of the columns."));
  }
}
