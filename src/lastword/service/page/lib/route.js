// What the address bar says: which page, which table, which key. Everything that can be looked at
// has an address, so that it can be shared and the back button works.

import { Address } from "./address.js";

// As the service names tables; not `..`, which a browser would make another path of.
const NAME = /^(?!\.+$)[A-Za-z0-9._-]{1,249}$/;

/** The page that `hash` names. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page, table = "", tab] = path.split("/").map(decoded);
  if (["wall", "cluster", "captures"].includes(page)) return { page };
  if (page !== "tables" || !NAME.test(table)) return { page: "overview" };
  const parameters = new URLSearchParams(query);
  return {
    page: "table",
    table,
    tab: ["health", "keys", "schema", "changes"].includes(tab) ? tab : "health",
    address: Address.fromQuery(parameters),
    isNew: parameters.has("new"),
  };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** The address of a tab of a table, or of a key in it. */
export function tableHref(table, tab = "health", address = null) {
  const base = `#/tables/${encodeURIComponent(table)}/${tab}`;
  return address === null ? base : `${base}?${address.toQuery()}`;
}

/** The address of the form for a new key. */
export function newKeyHref(table) {
  return `${tableHref(table, "keys")}?new`;
}
