// The instances of a cluster, one row each; on a phone, one block each.

import { now } from "../lib/clock.js";
import { h, reconcile, setAttribute, setText } from "../lib/dom.js";
import { count, duration } from "../lib/format.js";

const COLUMNS = [
  ["Address", (each) => each.address],
  ["Rack", (each) => each.rack || "–"],
  ["Weight", (each) => count(each.weight)],
  ["Owns", (each) => count(each.owns)],
  ["Standby of", (each) => count(each.standby_of)],
  ["Warms up", (each) => (each.warms_up ? count(each.warms_up) : "–")],
];

/** {word, tone} of a member. */
function stateOf(member) {
  if (member.state === "restarting") return { word: restarting(member), tone: "busy" };
  if (!member.answers) return { word: "does not answer", tone: "bad" };
  if (member.state === "draining") return { word: member.owns + member.standby_of ? "draining" : "drained", tone: "warn" };
  return { word: member.state, tone: member.state === "guest" ? "dull" : "good" };
}

function restarting({ away_until: until }) {
  const left = Math.max(0, Math.round((until - now()) / 1000));
  return left ? `restarting, ${duration(left)} left` : "restarting";
}

/** A table of members. */
export class Members {
  constructor() {
    this.rows = h("tbody");
    this.root = h("section", { class: "panel" },
      h("h2", {}, "Instances"),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Instances" },
        h("table", { class: "data stacking members" },
          h("thead", {}, h("tr", {}, ["Instance", "State", ...COLUMNS.map(([label]) => label)].map((label) => h("th", { scope: "col" }, label)))),
          this.rows)));
  }

  update(members) {
    reconcile(this.rows, members, (each) => each.instance, row, (node, each) => {
      const { word, tone } = stateOf(each);
      const [about, state, ...cells] = node.cells;
      setText(about.querySelector("small"), remarks(each));
      setText(state.firstChild, word);
      setAttribute(state.firstChild, "data-tone", tone);
      COLUMNS.forEach(([, show], i) => setText(cells[i], show(each)));
    });
  }
}

function remarks({ leads, this: isThis }) {
  return [leads && "leader", isThis && "this one"].filter(Boolean).join(", ");
}

function row({ instance }) {
  return h("tr", {},
    h("th", { scope: "row", "data-label": "Instance" }, h("div", {}, h("span", {}, instance), h("small", { class: "muted" }))),
    h("td", { "data-label": "State" }, h("span", { class: "pill" })),
    COLUMNS.map(([label], i) => h("td", { "data-label": label, class: i === 0 ? "mono" : null })));
}
