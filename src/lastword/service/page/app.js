// The beginning: shows the page that the address names, and what every page has.

import { setAttribute } from "./lib/dom.js";
import { capturesPage } from "./captures/capturespage.js";
import { clusterPage } from "./cluster/clusterpage.js";
import { Overview } from "./overview/overview.js";
import { parseRoute } from "./lib/route.js";
import { TablePage } from "./table/tablepage.js";
import { onToken, startTokens } from "./requests/token.js";

const main = document.getElementById("main");
let page = null;
let shown = null;

/** Show what the address says; the page stays when only something within it changed. */
function show() {
  const route = parseRoute(location.hash);
  const name = `${route.page}/${route.table ?? ""}`;
  if (name !== shown) {
    page?.close();
    page = open(route);
    main.replaceChildren(page.root);
    scrollTo(0, 0);
    // A reader of the screen hears the new page; at the first one the browser does that by itself.
    if (shown !== null) main.focus({ preventScroll: true });
    shown = name;
  }
  page.show?.(route);
  setAttribute(document.documentElement, "data-page", route.page);
  document.title = `${page.title} · Lastword`;
  for (const link of document.querySelectorAll("[data-page]:is(a)")) {
    setAttribute(link, "aria-current", link.dataset.page === route.page ? "page" : null);
  }
}

function open(route) {
  if (route.page === "table") return new TablePage(route.table);
  if (route.page === "captures") return capturesPage();
  return route.page === "cluster" ? clusterPage() : new Overview();
}

function showAnew() {
  shown = null;
  show();
}

/** A slash goes to the search, as in most tools with one. */
function shortcut(event) {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("search");
  if (!search?.offsetParent) return;
  event.preventDefault();
  search.focus();
}

window.addEventListener("hashchange", show);
document.addEventListener("keydown", shortcut);
// The address after # is ours, so a link into the page has to be followed by hand.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
onToken(showAnew);
startTokens();
show();
