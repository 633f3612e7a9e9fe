// The figures of a whole table from those of its partitions. One unknown part makes a sum unknown:
// half a truth would pass for the whole.

function total(values) {
  return values.length && values.every((value) => value !== null && value !== undefined)
    ? values.reduce((sum, value) => sum + value, 0) : null;
}

/** What a survey counted in one partition, split so that the parts make up the whole. */
export function makeup(contents) {
  if (!contents) return null;
  const { records, live_keys: current, duplicates: superseded, keyless } = contents;
  return { records, current, superseded, deletes: records - current - superseded - keyless, keyless };
}

/** Of one partition: how many of its bytes on disk are those of current records, by share. */
export function aliveBytes(partition) {
  const { size_bytes: size, contents } = partition;
  if (size === null || !contents) return null;
  return contents.record_bytes ? size * (contents.live_bytes / contents.record_bytes) : 0;
}

/** Milliseconds since 1970 -> for how long the oldest record has waited to be cleaned, in seconds. */
export function compactionLag(partition, now) {
  if (!partition.cleaner) return null;
  const oldest = partition.cleaner.oldest_dirty;
  return oldest === null ? 0 : Math.max(0, now - oldest) / 1000;
}

/** All partitions of a compaction document together; null in every place that is not known. */
export function wholeTable(compaction, now) {
  const parts = compaction?.partitions ?? [];
  const contents = parts.map((part) => part.contents);
  const cleaners = parts.map((part) => part.cleaner);
  const count = (name) => total(contents.map((each) => each?.[name]));
  const known = cleaners.filter(Boolean);
  const cleaned = known.map((each) => each.last_run?.ended).filter((at) => at !== undefined);
  const lags = parts.map((part) => compactionLag(part, now)).filter((lag) => lag !== null);
  return {
    records: count("records"),
    liveKeys: count("live_keys"),
    duplicates: count("duplicates"),
    tombstones: count("tombstones"),
    keyless: count("keyless"),
    diskBytes: total(parts.map((part) => part.size_bytes)),
    aliveBytes: total(parts.map(aliveBytes)),
    cleanerKnown: known.length > 0,
    dirtyRatio: known.length ? Math.max(...known.map((each) => each.dirty_ratio)) : null,
    compactionLag: lags.length ? Math.max(...lags) : null,
    lastClean: cleaned.length ? Math.max(...cleaned) : null,
    givenUp: known.some((each) => each.given_up),
    surveyed: compaction?.surveyed ?? null,
  };
}

/** The makeup of the whole log, or null when it was not counted. */
export function wholeMakeup(compaction) {
  const parts = (compaction?.partitions ?? []).map((part) => makeup(part.contents));
  if (!parts.length || parts.includes(null)) return null;
  const sum = (name) => parts.reduce((all, part) => all + part[name], 0);
  return Object.fromEntries(["records", "current", "superseded", "deletes", "keyless"].map((name) => [name, sum(name)]));
}
