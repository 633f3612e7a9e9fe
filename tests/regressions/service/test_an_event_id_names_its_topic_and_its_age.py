"""The id of an event names its topic and the time since which no delete can be missing.

Ids were offsets only. After the topic had been created again a client resumed in the wrong place,
and one that came back after the retention missed deletes, both without an error.
"""

from __future__ import annotations

import re

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.records import Position
from tests.service.conftest import Serve
from tests.support.served.event_stream import watching

WATCH = "/tables/table/watch"
DAY_MS = 86_400_000


def test_ids_carry_topic_and_time_and_resume(serve: Serve) -> None:
    serving = serve()
    with serving.client() as client:
        with watching(client, WATCH) as events:
            serving.table.put_many([(f"k{n}", n) for n in range(10)])
            events.take(5)
            left_at = Position.parse(events.id)
        assert left_at.topic_id == serving.table.position().topic_id
        assert 0 <= SYSTEM_CLOCK.now_ms() - left_at.complete_at_ms < DAY_MS
        with watching(client, WATCH, str(left_at)) as events:
            assert len(events.take(5)) == 5


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.partition("@")[0], "does not name its topic"),
        (lambda text: re.sub("@[^@]*@", "@another@", text), "a topic that was deleted"),
        (lambda text: re.sub("@[0-9]+$", "@1700000000000", text), "may have left the log"),
    ],
)
def test_an_id_that_cannot_be_trusted_is_gone(serve: Serve, change: object, why: str) -> None:
    serving = serve()
    with serving.client() as client:
        with watching(client, WATCH) as events:
            given = events.id
        answer = client.get(WATCH, headers={"Last-Event-ID": change(given)})  # type: ignore[operator]
    assert (answer.status_code, answer.json()["name"]) == (410, "WatchLostError")
    assert why in answer.json()["message"]
