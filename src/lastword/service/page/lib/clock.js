// The service's time. The clock of a phone or a wall screen may be minutes off, and "cleaned 3 s
// from now" would be nonsense.

let ahead = 0;

/** The service said that it is `at` (milliseconds since 1970) there now. */
export function noteServiceTime(at) {
  ahead = at - Date.now();
}

/** Milliseconds since 1970 by the service's clock. */
export function now() {
  return Date.now() + ahead;
}
