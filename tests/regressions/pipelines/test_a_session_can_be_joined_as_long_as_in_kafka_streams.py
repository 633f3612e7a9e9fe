"""Sessions are joined for as long as in Kafka Streams: for gap and grace by default.

The default was a day, so that an event revived sessions that Kafka Streams does not see any more,
and a retention of just gap and grace was refused.
"""

from __future__ import annotations

from typing import Any

import pytest

from lastword.codecs.windowed import SessionKey
from lastword.codecs.windowed import session as session_key
from lastword.pipelines import Pipeline, session
from tests.support.on_spark.offline_pipeline import OfflinePipeline

JOINED = {SessionKey("p", 100, 105): 2, SessionKey("q", 116, 116): 1}
APART = {
    SessionKey("p", 100, 100): 1,
    SessionKey("p", 105, 105): 1,
    SessionKey("q", 116, 116): 1,
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, APART),
        ({"retention": 15}, APART),
        ({"retention": 16}, APART),
        ({"retention": 17}, JOINED),
    ],
    ids=lambda each: str(each.get("retention", "default")),
)
def test_a_session_that_ended_longer_ago_is_not_joined(
    options: Any, expected: dict[SessionKey[str], int]
) -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    windows = session(10, grace=5)
    counts = app.stream("events").group_by_key().windowed_by(windows).count("counts", **options)
    pipeline = OfflinePipeline(app)
    # The last one is not late by itself; its session would be, but for what it can join.
    events = [(b"p", b"1", 100, ()), (b"q", b"1", 116, ()), (b"p", b"1", 105, ())]
    pipeline.run({"events": events})
    decode = session_key("string").decode
    changelog = pipeline.table(counts.topic)
    assert {
        decode(row): int.from_bytes(value, "big") for row, (value, _) in changelog.items()
    } == expected
