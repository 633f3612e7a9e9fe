// The token itself. In this tab's storage only: closing the tab forgets it, and other tabs, sites
// and restarts of the browser never see it.

const KEY = "lastword-token";
let token = read();

function read() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is forbidden; the token lasts as long as the page
  }
}

/** The token, or an empty text. */
export function currentToken() {
  return token;
}

/** Use another token from now on; an empty text forgets it. */
export function keepToken(value) {
  token = value;
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}
