"""What a long task has read and not processed: when it can, and what is left after a commit."""

from __future__ import annotations

from lastword.kafka.groups import Committed
from lastword.kafka.log.source import EndOfLog
from lastword.pipelines.real_time.live_input import MANY_RECORDS, LiveInput
from lastword.pipelines.run.spans import Span
from lastword.pipelines.task.task_input import PIECE_BYTES
from lastword.records import TopicPartition
from tests.support.local_tables.offline_topic import batch_of

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def test_nothing_is_ready_before_each_source_has_a_record_or_is_at_its_end() -> None:
    given = LiveInput(0, {"a": 0, "b": 0}, headers=False)
    assert not given.is_ready
    given.take("a", batch_of([(b"k", b"1")]))
    assert not given.is_ready
    given.reach_end("b", EndOfLog(0, 0))
    assert given.is_ready
    given.take("b", batch_of([(b"k", b"2")]))
    assert given.is_ready
    given.drop_processed({A: Committed(1, ""), B: Committed(1, "")})
    assert not given.is_ready


def test_the_span_of_an_unfinished_source_is_marked() -> None:
    given = LiveInput(0, {"a": 3, "b": 0}, headers=False)
    given.take("a", batch_of([(b"k", b"1")], first=3))
    given.reach_end("b", EndOfLog(0, 7))
    committed = {A: Committed(3, "")}
    assert given.spans(committed) == {A: Span(3, 4, more=True), B: Span(0, 7, more=False)}
    given.reach_end("a", EndOfLog(0, 5))
    assert given.spans(committed)[A] == Span(3, 5, more=False)


def test_a_single_source_has_no_spans() -> None:
    given = LiveInput(0, {"a": 0}, headers=False)
    given.take("a", batch_of([(b"k", b"1")]))
    assert given.spans({}) == {}
    assert given.is_ready


def test_waiting_records_stay_until_they_are_committed() -> None:
    given = LiveInput(0, {"a": 0}, headers=True)
    headers = [(("h", b"x"),), None, (("h", b"y"), ("h", b"z"))]
    given.take("a", batch_of([(b"k", b"%d" % n) for n in range(3)], headers=headers))
    given.drop_processed({A: Committed(2, "")})
    (left,) = given.given().topics.values()
    assert (left.offsets, left.values, left.headers) == ([2], [b"2"], [{"h": b"z"}])
    assert given.next_offsets == {"a": 3}


def test_a_run_is_done_when_everything_before_its_end_is_processed() -> None:
    given = LiveInput(0, {"a": 0}, headers=False)
    assert not given.has_processed({A: 3})
    given.take("a", batch_of([(b"k", b"1")]))
    given.reach_end("a", EndOfLog(0, 3))
    assert not given.has_processed({A: 3})
    given.drop_processed({A: Committed(1, "")})
    assert given.has_processed({A: 3})


def test_large_batches_mean_that_the_log_continues() -> None:
    given = LiveInput(0, {"a": 0}, headers=False)
    given.take("a", batch_of([(b"k", b"1")] * 10))
    assert not given.is_behind
    given.take("a", batch_of([(b"k", b"1")] * MANY_RECORDS, first=10))
    assert given.is_behind
    given.reach_end("a", EndOfLog(0, 10 + MANY_RECORDS))
    assert not given.is_behind


def test_a_source_is_full_by_its_bytes_until_they_are_processed() -> None:
    given = LiveInput(0, {"a": 0}, headers=False)
    given.take("a", batch_of([(b"k", b"x" * (PIECE_BYTES - 1))]))
    assert not given.has_piece
    given.take("a", batch_of([(b"k", b"x"), (b"k", None)], first=1))
    assert given.is_full("a")
    given.drop_processed({A: Committed(1, "")})
    assert not given.is_full("a")
