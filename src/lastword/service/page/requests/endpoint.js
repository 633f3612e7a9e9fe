// The one place where paths of the service are made. Whatever a part holds, it stays one segment of
// the path: a key or an address bar can never lead to another table, key or operation.

/** Whether a text can be a segment: a browser takes `.` and `..` out of a path, escaped or not. */
export function isSegment(text) {
  return text !== "." && text !== "..";
}

/** The path of a table, or of what `parts` name below it, with a query. */
export function tablePath(table, parts = [], query = {}) {
  const segments = ["tables", table, ...parts];
  if (!segments.every(isSegment)) throw new RangeError("no path can have this segment");
  const path = segments.map((part) => `/${encodeURIComponent(part)}`).join("");
  const parameters = new URLSearchParams(query).toString();
  return parameters ? `${path}?${parameters}` : path;
}
