// The state of a table in one word and one tone, wherever it is shown.

import { h, setAttribute, setText } from "../lib/dom.js";
import { duration, percent } from "../lib/format.js";

const WORDS = {
  CREATED: "starting",
  RESTORING: "restoring",
  REBALANCING: "rebalancing",
  PENDING_SHUTDOWN: "stopping",
  STOPPED: "stopped",
  ERROR: "error",
};

/** {word, tone}; tones are good, busy, warn, bad and dull. */
export function stateOf(status) {
  if (!status) return { word: "…", tone: "dull" };
  if (status.state === "RUNNING") {
    return status.stale ? { word: "stale", tone: "warn" } : { word: "live", tone: "good" };
  }
  const tone = { ERROR: "bad", STOPPED: "dull", PENDING_SHUTDOWN: "dull" }[status.state] ?? "busy";
  return { word: WORDS[status.state] ?? status.state.toLowerCase(), tone };
}

/** How far a restore is: {share, text}; null when there is none. */
export function restoreOf(status) {
  if (!status || status.ready || status.state === "ERROR") return null;
  const { done, total, eta_seconds: left } = status.restore;
  const share = total ? done / total : null;
  const when = left === null ? "time left unknown" : `about ${duration(Math.ceil(left))} left`;
  return { share, text: share === null ? "looking for the end of the log" : `${percent(share)} restored, ${when}` };
}

/** A pill that shows the state. */
export class StatePill {
  constructor() {
    this.root = h("span", { class: "pill" });
  }

  update(status) {
    const { word, tone } = stateOf(status);
    setText(this.root, word);
    setAttribute(this.root, "data-tone", tone);
  }
}
