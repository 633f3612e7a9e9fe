// Figures over time as paths of SVG. Where a figure is not known the line ends and begins anew.

// Points further apart than this are not connected: nobody knows what was in between.
const GAP_MS = 15_000;

/** The runs of neighbouring points that are known, as lists of [time, value, index]. */
function runs(times, column) {
  const found = [];
  let run = [];
  times.forEach((at, i) => {
    if (column[i] === null || (run.length && at - run.at(-1)[0] > GAP_MS)) {
      if (run.length) found.push(run);
      run = [];
    }
    if (column[i] !== null) run.push([at, column[i], i]);
  });
  if (run.length) found.push(run);
  return found;
}

function point(x, y) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/** One line through all that is known; a single point becomes a dash. */
export function linePath(times, column, x, y) {
  return runs(times, column)
    .map((run) => {
      const points = run.map(([at, value]) => point(x(at), y(value)));
      if (points.length === 1) points.push(point(x(run[0][0]) + 2, y(run[0][1])));
      return `M${points.join("L")}`;
    })
    .join("");
}

/** The area between a line and what it stands on: another column, or with null the axis. */
export function areaPath(times, column, base, x, y) {
  return runs(times, column)
    .map((run) => {
      const above = run.map(([at, value]) => point(x(at), y(value)));
      const below = run.map(([at, , i]) => point(x(at), y(base === null ? 0 : base[i]))).reverse();
      return `M${[...above, ...below].join("L")}Z`;
    })
    .join("");
}

/** Each column on top of those before it; what is unknown adds nothing and is not drawn. */
export function stacked(columns) {
  let base = columns[0].map(() => 0);
  return columns.map((column) => {
    const below = base;
    const top = column.map((value, i) => (value === null ? null : below[i] + value));
    base = top.map((value, i) => value ?? below[i]);
    return { column: top, base: below };
  });
}
