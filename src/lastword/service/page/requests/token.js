// Asks for a token, tries it, and says what it allows.

import { explain, get, Problem, Unreachable } from "./api.js";
import { setText } from "../lib/dom.js";
import { currentToken, keepToken } from "./secret.js";

const CHANGED = "lastword-token";
const RIGHTS = ["read", "write", "admin"];

const dialog = document.getElementById("token-dialog");
const input = document.getElementById("token-input");
const answer = document.getElementById("token-answer");
const button = document.getElementById("token");

/** Call `listener` when another token is used. */
export function onToken(listener) {
  window.addEventListener(CHANGED, listener);
}

export function openTokenDialog() {
  input.value = "";
  say("", false);
  dialog.showModal();
}

/** Show on the button what the token allows at most. */
export async function showRights() {
  if (!currentToken()) {
    label("No token", "Reading only: give a token");
    return;
  }
  try {
    label(`Token: ${await rights()}`, "Give another token, or forget this one");
  } catch (error) {
    if (error instanceof Problem) label("Token refused", error.message);
    else if (!(error instanceof Unreachable)) throw error;
  }
}

async function rights() {
  const { tables } = await get("/tables");
  const most = Math.max(-1, ...tables.map((table) => RIGHTS.indexOf(table.access)));
  return RIGHTS[most] ?? "nothing here";
}

function label(text, title) {
  setText(button, text);
  button.title = title;
}

function say(text, isProblem) {
  setText(answer, text);
  answer.classList.toggle("problem", isProblem);
}

function use(token) {
  keepToken(token);
  dialog.close();
  showRights();
  window.dispatchEvent(new Event(CHANGED));
}

async function tryToken(event) {
  event.preventDefault();
  const before = currentToken();
  const token = input.value.trim();
  // What no header can carry is no token, and the browser would refuse to send it.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    say("That is no token. One looks like lw_… and has no spaces.", true);
    return;
  }
  keepToken(token);
  try {
    await rights();
    use(token);
  } catch (error) {
    keepToken(before);
    if (!(error instanceof Problem || error instanceof Unreachable)) throw error;
    say(error.status === 401
      ? "This token is not known here. It may have been revoked: see lastword token list."
      : explain(error), true);
  }
}

/** Make the button and the dialog work. */
export function startTokens() {
  button.addEventListener("click", openTokenDialog);
  dialog.querySelector("form").addEventListener("submit", tryToken);
  document.getElementById("token-forget").addEventListener("click", () => use(""));
  document.getElementById("token-cancel").addEventListener("click", () => dialog.close());
  showRights();
}
