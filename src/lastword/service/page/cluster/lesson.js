// What the page says where no table is shared: what sharing is for, and how to begin.

import { h } from "../lib/dom.js";

const SETTINGS = `application_id = "shop"

[tables.carts]
layout = "partitioned"   # each instance keeps some of the partitions
standbys = 1             # and a warm copy of others`;

/** The empty state. */
export class Lesson {
  constructor() {
    this.root = h("section", { class: "panel lesson", hidden: true },
      h("h2", {}, "No table is shared yet"),
      h("p", {}, "Every instance of this service holds all of its tables. When a table becomes too large or too busy for one",
        " process, several can share it: each keeps some of its partitions, and every one answers reads of every key."),
      h("pre", { class: "mono" }, SETTINGS),
      h("p", { class: "muted" }, "Put this into lastword.toml and start `lastword serve` on several machines. This page then shows",
        " the instances, who owns each partition, how far its standbys are behind, and which partitions moved."));
  }
}
