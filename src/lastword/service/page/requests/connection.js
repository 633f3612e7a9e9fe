// Whether the service answers. Every request reports here, and the banner says so at once: figures
// that have stopped moving must not pass for current ones.

import { h, setText } from "../lib/dom.js";
import { duration } from "../lib/format.js";

const TRY_AGAIN = "lastword-try-again";

let lastHeard = Date.now();
let lost = false;
let ticking = null;

/** A request was answered, whatever the answer. */
export function reached() {
  lastHeard = Date.now();
  if (!lost) return;
  lost = false;
  clearInterval(ticking);
  document.getElementById("banner").hidden = true;
  delete document.documentElement.dataset.lost;
}

/** A request got no answer. */
export function missed() {
  if (lost) return;
  lost = true;
  document.documentElement.dataset.lost = "";
  const text = h("span");
  const button = h("button", { type: "button", on: { click: tryAgain } }, "Try now");
  const banner = document.getElementById("banner");
  banner.replaceChildren(text, button);
  banner.hidden = false;
  const say = () => {
    const silence = duration(Math.round((Date.now() - lastHeard) / 1000));
    setText(text, `No answer from the service for ${silence}. What you see is old. Trying again…`);
  };
  say();
  ticking = setInterval(say, 1000);
}

/** Call `listener` when somebody wants a new attempt now. */
export function onTryAgain(listener) {
  window.addEventListener(TRY_AGAIN, listener);
  return () => window.removeEventListener(TRY_AGAIN, listener);
}

function tryAgain() {
  window.dispatchEvent(new Event(TRY_AGAIN));
}

window.addEventListener("online", tryAgain);
