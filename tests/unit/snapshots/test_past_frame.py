"""Which records of a history a past state is computed from."""

from __future__ import annotations

import pyarrow as pa

from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY
from lastword.snapshots.jobs.past_frame import RecordCheck


def test_keyless_misplaced_and_fence_records_are_dropped() -> None:
    keyspace = Keyspace(2)
    here = next(b"%d" % n for n in range(9) if keyspace.partition_of(b"%d" % n) == 0)
    there = next(b"%d" % n for n in range(9) if keyspace.partition_of(b"%d" % n) == 1)
    keys = [None, b"", FENCE_KEY, here, there]
    batch = pa.record_batch({"key": keys, "partition": [0] * len(keys)})
    (kept,) = RecordCheck(keyspace)(iter([batch]))
    assert kept.column("key").to_pylist() == [here]
    one = RecordCheck(Keyspace(1))
    (kept,) = one(iter([batch]))
    assert kept.column("key").to_pylist() == [here, there]
