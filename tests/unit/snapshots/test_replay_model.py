"""A replay gives what a log that nothing was removed from comes to, or it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from lastword.column_batch import ColumnBatch
from lastword.keyspace import Keyspace
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.rows import decode_row
from lastword.snapshots.travel.replay import LostChangesError, PastReplay, ReplayEnd

Change = tuple[bytes, bytes | None, int]
"""Key, value or delete, timestamp."""

changes = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c"]),
        st.one_of(st.none(), st.sampled_from([b"1", b"2"])),
        st.integers(0, 20),
    ),
    max_size=12,
)


def model(log: Sequence[Change], end: int) -> dict[bytes, bytes]:
    state: dict[bytes, bytes] = {}
    for key, value, _ in log[:end]:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value
    return state


def cut_of(log: Sequence[Change], cut: ReplayEnd) -> int:
    """Where the cut lies in the log as it was written."""
    for offset, (_, _, timestamp) in enumerate(log[: cut.ceiling]):
        if cut.time_ms is not None and offset >= cut.floor and timestamp > cut.time_ms:
            return offset
    return cut.ceiling


def cleaned(log: Sequence[Change], until: int, *, tombstones: bool) -> list[int]:
    """The offsets that are left when the cleaner has been there, and tombstones have expired."""
    last = {key: offset for offset, (key, _, _) in enumerate(log[:until])}
    return [
        offset
        for offset, (key, value, _) in enumerate(log)
        if offset >= until or (last[key] == offset and (tombstones or value is not None))
    ]


def feed(replay: PastReplay, log: Sequence[Change], offsets: Sequence[int], size: int) -> None:
    """The records from where the replay is, in batches as a reader has them."""
    left = [offset for offset in offsets if offset >= replay.at]
    for i in range(0, len(left), size):
        some = left[i : i + size]
        keys, values, timestamps = zip(*(log[offset] for offset in some), strict=True)
        batch = ColumnBatch(
            partition=0,
            keys=keys,
            values=values,
            offsets=some,
            timestamps=timestamps,
            headers=[None] * len(some),
            next_offset=some[-1] + 1,
        )
        replay.add(batch)
    replay.end(len(log))


def state_of(replay: PastReplay) -> dict[bytes, bytes]:
    assert replay.size_bytes == sum(len(k) + len(v) for k, v in replay.rows.items())
    return {key: bytes(decode_row(row)[3]) for key, row in replay.rows.items()}


@st.composite
def cuts(draw: st.DrawFn, length: int) -> ReplayEnd:
    ceiling = draw(st.integers(0, length))
    if draw(st.booleans()):
        return ReplayEnd(ceiling)
    return ReplayEnd(ceiling, draw(st.integers(0, ceiling)), draw(st.integers(0, 20)))


@given(data=st.data(), log=changes, size=st.integers(1, 4), tombstones=st.booleans())
def test_a_log_that_was_cleaned_behind_our_back_is_replayed_exactly_or_refused(
    data: st.DataObject, log: list[Change], size: int, tombstones: bool
) -> None:
    cut = data.draw(cuts(len(log)))
    offsets = cleaned(log, data.draw(st.integers(0, len(log))), tombstones=tombstones)
    replay = PastReplay(RecordFilter(Keyspace(1)), cut)
    replay.begin(trusted=False)
    try:
        feed(replay, log, offsets, size)
    except LostChangesError:
        assert len(offsets) < len(log), "nothing was removed"
        event("refused")
        return
    event("answered")
    end = cut_of(log, cut)
    assert (replay.at, state_of(replay)) == (end, model(log, end))


@given(data=st.data(), log=changes, size=st.integers(1, 4))
def test_from_a_snapshot_on_only_what_follows_it_must_be_there(
    data: st.DataObject, log: list[Change], size: int
) -> None:
    cut = data.draw(cuts(len(log)))
    start = data.draw(st.integers(0, cut.ceiling if cut.time_ms is None else cut.floor))
    rows = PastReplay(RecordFilter(Keyspace(1)), ReplayEnd(start))
    rows.begin(trusted=False)
    feed(rows, log, range(len(log)), size)
    replay = PastReplay(RecordFilter(Keyspace(1)), cut, start, dict(rows.rows), from_start=False)
    replay.begin(trusted=False)
    until = data.draw(st.integers(0, start))
    feed(replay, log, cleaned(log, until, tombstones=False), size)
    end = cut_of(log, cut)
    assert (replay.at, state_of(replay)) == (end, model(log, end))


def test_a_stretch_that_is_trusted_may_have_gaps_and_says_that_it_had() -> None:
    log: list[Change] = [(b"a", b"1", 0), (b"a", b"2", 0), (b"b", b"1", 0)]
    replay = PastReplay(RecordFilter(Keyspace(1)), ReplayEnd(3))
    replay.begin(trusted=True)
    feed(replay, log, [1, 2], 4)
    assert (replay.relied, state_of(replay)) == (True, {b"a": b"2", b"b": b"1"})
    with pytest.raises(LostChangesError):
        feed(PastReplay(RecordFilter(Keyspace(1)), ReplayEnd(3)), log, [1, 2], 4)
