// Requests to the service that this page came from, with the token when there is one.

import { missed, reached } from "./connection.js";
import { tablePath } from "./endpoint.js";
import { parseExactly } from "../lib/json.js";
import { currentToken } from "./secret.js";

const TIMEOUT_MS = 15_000;

/** The service's own answer that something is wrong: one shape, with a hint what to do. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.message ?? `the service answered ${status}`);
    this.status = status;
    this.kind = document.name ?? "";
    this.hint = document.hint ?? "";
  }
}

/** An error as sentences: what is wrong, and what to do. Takes a Problem, or one inside a document. */
export function explain({ message, hint }) {
  return [message, hint].filter(Boolean).map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`.replace(/[.…]\.$/, ".")).join(" ");
}

/** No answer at all. */
export class Unreachable extends Error {}

/** Headers of every request. */
export function headers(extra = {}) {
  const token = currentToken();
  return token ? { Authorization: `Bearer ${token}`, ...extra } : extra;
}

/** Send a request; raises Problem or Unreachable, and tells the connection which it was. */
export async function send(path, { timeout = TIMEOUT_MS, signal, ...options } = {}) {
  const limits = [signal, timeout === null ? null : AbortSignal.timeout(timeout)].filter(Boolean);
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: headers(options.headers),
      signal: limits.length ? AbortSignal.any(limits) : undefined,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    missed();
    throw new Unreachable("the service does not answer");
  }
  reached();
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response) {
  let document = {};
  try {
    document = await response.json();
  } catch {
    // something between us answered; its status has to do
  }
  return new Problem(response.status, document);
}

// An answer can also break off in the middle.
async function read(response, form) {
  try {
    return await response[form]();
  } catch {
    missed();
    throw new Unreachable("the answer broke off");
  }
}

/** A document about the service or a table. */
export async function get(path) {
  return read(await send(path), "json");
}

/** A document with records in it, whose numbers must stay as they were written. */
export async function getRecords(path) {
  return parseExactly(await read(await send(path), "text"));
}

/** A key's value as JSON text, with its version and time. */
export async function getValue(path) {
  const response = await send(path);
  return {
    text: await read(response, "text"),
    version: (response.headers.get("etag") ?? "").replaceAll('"', ""),
    timestamp: Number(response.headers.get("lastword-timestamp")),
  };
}

/** Write a JSON text. */
export async function putValue(path, text) {
  const headers = { "Content-Type": "application/json" };
  return read(await send(path, { method: "PUT", body: text, headers }), "json");
}

/** Write a tombstone. */
export async function deleteKey(path) {
  return read(await send(path, { method: "DELETE" }), "json");
}

/** Count the records of a log; as long as that takes. */
export async function survey(table) {
  return read(await send(tablePath(table, ["survey"]), { method: "POST", timeout: null }), "json");
}
