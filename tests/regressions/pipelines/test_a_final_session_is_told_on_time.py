"""A final session is told at the stream time of its end plus gap and grace, as in Kafka Streams.

It came a millisecond later. Kafka Streams still accepts records for it at that very time, and
emits it again; here it is emitted once, and such a record is late.
"""

from __future__ import annotations

from lastword.pipelines import Pipeline, session
from tests.support.on_spark.offline_pipeline import OfflinePipeline

ONE = (1).to_bytes(8, "big")


def row(key: bytes, start_ms: int, end_ms: int) -> bytes:
    return key + end_ms.to_bytes(8, "big") + start_ms.to_bytes(8, "big")


def suppressed(*events: tuple[bytes, int]) -> OfflinePipeline:
    app = Pipeline("app", bootstrap_servers="none:1")
    windows = session(10, grace=5)
    app.stream("events").group_by_key().windowed_by(windows).count("counts").suppress()
    pipeline = OfflinePipeline(app)
    records = [(key, b"1", at_ms, ()) for key, at_ms in events]
    pipeline.run({"events": records}, range(len(records)))
    return pipeline


def test_a_session_is_emitted_when_gap_and_grace_have_passed() -> None:
    assert suppressed((b"p", 100), (b"q", 114)).topic("app-counts-final") == []
    told = suppressed((b"p", 100), (b"q", 115)).topic("app-counts-final")
    assert told == [(row(b"p", 100, 100), ONE, 100, ())]


def test_an_emitted_session_accepts_no_more_records() -> None:
    pipeline = suppressed((b"p", 100), (b"q", 115), (b"p", 100), (b"p", 101))
    assert pipeline.tally.late == 1
    assert pipeline.topic("app-counts-final") == [(row(b"p", 100, 100), ONE, 100, ())]
    assert row(b"p", 101, 101) in pipeline.table("app-counts-changelog")


def test_a_session_that_begins_at_the_time_it_closes_is_emitted_at_once() -> None:
    told = suppressed((b"q", 115), (b"p", 100)).topic("app-counts-final")
    assert told == [(row(b"p", 100, 100), ONE, 100, ())]
