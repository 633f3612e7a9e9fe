"""Duplicates in a partition, for any input and any cut into batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.deduplication import BloomDeduplicator, DeduplicationWindow
from lastword.pipelines.operators.deduplicate import DeduplicateByBloom, DeduplicateWithin
from tests.support.java_peers.streams_model import Event
from tests.support.on_spark.operator_run import CUTS, OperatorRun

MESSAGES = st.lists(
    st.builds(
        Event,
        st.sampled_from([b"a", b"b", None]),
        st.none() | st.fixed_dictionaries({"id": st.none() | st.integers(0, 8)}),
        st.integers(1, 80),
    ),
    max_size=60,
)


def expected(events: list[Event], seen: DeduplicationWindow | BloomDeduplicator) -> list[object]:
    """The plain class, fed one event after the other."""
    kept: list[object] = []
    now_ms = -1
    for event in events:
        now_ms = max(now_ms, event.timestamp_ms)
        message_id = event.value and event.value["id"]
        if isinstance(seen, DeduplicationWindow):
            known = message_id is not None and seen.is_duplicate(message_id, now_ms)
        else:
            known = message_id is not None and seen.is_duplicate(message_id)
        if not known:
            kept.append((event.key, event.value))
    return kept


@given(events=MESSAGES, cuts=CUTS, window_ms=st.integers(1, 40), lose_stores=st.booleans())
def test_a_pipeline_skips_the_same_records_as_a_plain_consumer(
    events: list[Event], cuts: list[int], window_ms: int, lose_stores: bool
) -> None:
    run = OperatorRun(DeduplicateWithin("id", window_ms))
    run.in_batches(events, cuts, lose_stores=lose_stores)
    kept = expected(events, DeduplicationWindow(window_ms))
    assert run.told == kept
    assert run.tally.duplicates == len(events) - len(kept)
    horizon_ms = run.stream_time_ms - window_ms - window_ms // 4
    assert all(int.from_bytes(at, "big") >= horizon_ms for at in run.table.values())


@given(events=MESSAGES, cuts=CUTS, capacity=st.integers(1, 10), lose_stores=st.booleans())
def test_the_filter_of_a_pipeline_is_that_of_a_plain_consumer(
    events: list[Event], cuts: list[int], capacity: int, lose_stores: bool
) -> None:
    run = OperatorRun(DeduplicateByBloom("id", capacity, 0.001))
    run.in_batches(events, cuts, lose_stores=lose_stores)
    plain = BloomDeduplicator(capacity=capacity, false_positive_rate=0.001)
    assert run.told == expected(events, plain)


def test_an_event_whose_id_cannot_be_asked_for_is_quarantined() -> None:
    run = OperatorRun(DeduplicateWithin(lambda value: value["id"], 10))
    run.process([Event(b"a", {}, 1), Event(b"a", {"id": 1}, 2), Event(b"a", {"id": object()}, 2)])
    assert [value for _, value in run.told] == [{"id": 1}]
    assert run.tally.quarantined == 2
