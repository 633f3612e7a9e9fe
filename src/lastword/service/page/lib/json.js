// JSON as it was written. JavaScript rounds whole numbers above 2^53 and forgets that 1.0 had a
// point; a value that is shown, edited and saved must not change by that.

/** A number whose digits JavaScript would not print back. */
export class ExactNumber {
  constructor(source) {
    this.source = source;
  }
}

/** Whether this browser tells how a number was written (those from 2025 on do). */
export const keepsNumbers = JSON.parse("1.0", (_, value, context) => context?.source ?? value) === "1.0";

/** Parse, with an ExactNumber for every number that would lose digits. */
export function parseExactly(text) {
  try {
    return JSON.parse(text, exactly);
  } catch (error) {
    // A value nested by the thousand is too deep to be walked through. It must not take the whole
    // page of keys with it; rounded digits in what is only a preview are the lesser evil.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function exactly(_, value, context) {
  const source = typeof value === "number" ? context?.source : undefined;
  return source !== undefined && String(value) !== source ? new ExactNumber(source) : value;
}

// Deeper than this, a value is no longer for people; and recursion has to end somewhere.
const DEPTH_MAX = 100;

/** The pieces of a value as [kind, text]; kinds are key, string, number, word and mark. */
export function* pieces(value, indent = 0, depth = 0) {
  if (depth > DEPTH_MAX) throw new RangeError("nested too deeply to be laid out");
  if (value instanceof ExactNumber) yield ["number", value.source];
  else if (typeof value === "string") yield ["string", JSON.stringify(value)];
  else if (typeof value === "number") yield ["number", String(value)];
  else if (value === null || typeof value === "boolean") yield ["word", String(value)];
  else if (Array.isArray(value)) yield* list(value.map((item) => [null, item]), "[]", indent, depth);
  else yield* list(Object.entries(value), "{}", indent, depth);
}

function* list(entries, [open, close], indent, depth) {
  const line = (level) => (indent ? `\n${" ".repeat(indent * level)}` : "");
  yield ["mark", open];
  let first = true;
  for (const [key, value] of entries) {
    yield ["mark", (first ? "" : indent ? "," : ", ") + line(depth + 1)];
    if (key !== null) {
      yield ["key", JSON.stringify(key)];
      yield ["mark", ": "];
    }
    yield* pieces(value, indent, depth + 1);
    first = false;
  }
  yield ["mark", (first ? "" : line(depth)) + close];
}

/** A JSON text, laid out over lines; as it is when it cannot be. */
export function layOut(text) {
  try {
    return [...pieces(parseExactly(text), 2)].map(([, piece]) => piece).join("");
  } catch {
    return text;
  }
}

/** The beginning of a value on one line. */
export function brief(value, length = 200) {
  let text = "";
  try {
    for (const [, piece] of pieces(value)) {
      text += piece;
      if (text.length > length) return `${text.slice(0, length)}…`;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `${text.slice(0, length)}…`;
  }
  return text;
}
