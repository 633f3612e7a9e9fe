"""What a survey makes of the batches of a log."""

from __future__ import annotations

from lastword.column_batch import ColumnBatch
from lastword.keyspace import Keyspace
from lastword.records import FENCE_KEY
from lastword.topics.survey import survey


def batch(partition: int, first: int, *pairs: tuple[bytes, bytes | None]) -> ColumnBatch:
    offsets = range(first, first + len(pairs))
    return ColumnBatch(
        partition=partition,
        keys=[key for key, _ in pairs],
        values=[value for _, value in pairs],
        offsets=list(offsets),
        timestamps=[1] * len(pairs),
        headers=[None] * len(pairs),
        next_offset=offsets.stop,
    )


def test_the_key_of_fence_records_is_not_a_key_of_the_topic() -> None:
    keyspace = Keyspace(2)
    home = keyspace.partition_of(b"user")
    fences = (FENCE_KEY, b"1"), (FENCE_KEY, b"2")
    found = survey(
        [batch(home, 0, (b"user", b"1"), *fences, (b"user", b"2")), batch(1 - home, 0, *fences)],
        keyspace,
    )
    assert (found.split, found.misplaced) == (0, 0)
    assert (found.contents[home].live_keys, found.contents[1 - home].live_keys) == (1, 0)
    assert found.contents[home].live_bytes == len(b"user") + 1
    # A superseded record of either key is what compaction is there to remove.
    assert (found.contents[home].duplicates, found.contents[1 - home].duplicates) == (2, 1)
