// From figures to places in a chart, with round numbers on the axis.

const BYTES = 1024;
const TIMES_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** The smallest of 1, 2, 5, 10, 20, 50 … that is at least `value`. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

function stepFor(rough, unit) {
  if (unit === "whole") return Math.max(1, roundUp(rough));
  if (unit === "bytes") {
    const size = BYTES ** Math.max(0, Math.floor(Math.log(rough) / Math.log(BYTES)));
    return roundUp(rough / size) * size;
  }
  if (unit === "seconds" && rough > 1) {
    return TIMES_S.find((step) => step >= rough) ?? roundUp(rough / 86400) * 86400;
  }
  return roundUp(rough);
}

/** A scale from 0 to a round number above `max`: {ticks, top, place(value) from 0 to 1}. */
export function linearScale(max, unit, lines = 3) {
  const step = stepFor(Math.max(max, 1e-9) / lines, unit);
  const top = Math.max(1, Math.ceil((max / step) * 0.999)) * step;
  const ticks = [];
  for (let tick = 0; tick <= top * 1.001; tick += step) ticks.push(tick);
  return { ticks, top, place: (value) => value / top };
}

/** A scale of powers of ten around what there is: latencies differ by factors, not by amounts. */
export function powerScale(min, max) {
  const low = Math.floor(Math.log10(Math.max(min, 1e-6)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(max, 1e-6)) - 1e-9));
  const ticks = [];
  for (let power = low; power <= high; power += 1) ticks.push(10 ** power);
  const place = (value) => (Math.log10(Math.max(value, 1e-6)) - low) / (high - low);
  return { ticks, top: 10 ** high, place };
}

const TIME_STEPS_MS = [15, 30, 60, 120, 300, 600, 900].map((seconds) => seconds * 1000);

/** Round moments between two, at most `most` of them. */
export function timeTicks(from, to, most) {
  const step = TIME_STEPS_MS.find((each) => (to - from) / each <= most) ?? TIME_STEPS_MS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}
