// Figures as people read them. Every function takes null for what is not known, and says so:
// unknown is never shown as 0.

export const UNKNOWN = "unknown";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function known(value) {
  return value !== null && value !== undefined && Number.isFinite(Number(value));
}

/** Three significant digits. */
function three(value) {
  if (Math.abs(value) >= 100) return whole.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** A number in full: 1,234,567. */
export function exact(value) {
  return known(value) ? whole.format(value) : UNKNOWN;
}

/** In full up to five digits, then shortened: 98,304, 1.23 M. */
export function count(value) {
  if (!known(value)) return UNKNOWN;
  if (Math.abs(value) < 100_000) return Number.isInteger(value) ? whole.format(value) : three(value);
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(value) >= size) return `${three(value / size)} ${unit}`;
  }
  return UNKNOWN;
}

/** 62.3 KiB, in the units that the command line uses. */
export function bytes(value) {
  if (!known(value)) return UNKNOWN;
  let size = value;
  let unit = "B";
  for (const larger of ["KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  return `${unit === "B" ? whole.format(size) : three(size)} ${unit}`;
}

/** A share of 0 to 1 in percent; a little is not nothing, and nearly all is not all. */
export function percent(value) {
  if (!known(value)) return UNKNOWN;
  if (value > 0 && value < 0.01) return "< 1 %";
  if (value > 0.99 && value < 1) return "> 99 %";
  return `${Math.round(value * 100)} %`;
}

/** Something per second. */
export function rate(value) {
  if (!known(value)) return UNKNOWN;
  if (value === 0) return "0/s";
  return value < 0.1 ? "< 0.1/s" : `${value < 10 ? three(Math.round(value * 10) / 10) : count(Math.round(value))}/s`;
}

/** Milliseconds of a latency: 32 µs, 4.1 ms, 1.2 s. */
export function latency(milliseconds) {
  if (!known(milliseconds)) return UNKNOWN;
  if (milliseconds < 1) return `${three(milliseconds * 1000)} µs`;
  return milliseconds < 1000 ? `${three(milliseconds)} ms` : `${three(milliseconds / 1000)} s`;
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/** Seconds as a length of time in at most two units: 12 s, 4 min 10 s, 3 h 5 min, 2 d 4 h. */
export function duration(seconds) {
  if (!known(seconds)) return UNKNOWN;
  if (seconds < 1) return seconds <= 0 ? "0 s" : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${three(Math.round(seconds * 10) / 10)} s`;
  const rounded = Math.round(seconds);
  const first = UNITS.findIndex(([, size]) => rounded >= size);
  const [unit, size] = UNITS[first];
  const [smaller, smallerSize] = UNITS[first + 1] ?? [null, 1];
  const rest = smaller === null ? 0 : Math.floor((rounded % size) / smallerSize);
  return `${Math.floor(rounded / size)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ""}`;
}

/** How long before `now` (both in milliseconds since 1970) something was, in one unit. */
export function ago(then, now) {
  if (!isTime(then)) return UNKNOWN;
  const seconds = Math.floor((now - then) / 1000);
  if (seconds < 1) return "just now";
  const [unit, size] = UNITS.find(([, each]) => seconds >= each);
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

/** The time of day of milliseconds since 1970. */
export function timeOfDay(at) {
  return isTime(at) ? clock.format(at) : UNKNOWN;
}

/** Day and time; for another day's records, titles and details. */
export function dateTime(at) {
  return isTime(at) ? dayAndClock.format(at) : UNKNOWN;
}

// A record's time is whatever its producer wrote: -1, or a number no calendar has.
function isTime(at) {
  return known(at) && at >= 0 && at <= 8.64e15;
}

/** The word in the number that goes with the count: 1 key, 2 keys. */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
