"""A changelog record has the larger of its row's old time and the new one, for every batch size.

It had the largest time of its batch: a row went back in time when a late record came in a batch of
its own.
"""

from __future__ import annotations

import pytest

from lastword.pipelines import Pipeline, tumbling
from lastword.pipelines.api.grouped import GroupedStream
from lastword.pipelines.api.result import Result
from tests.support.on_spark.offline_pipeline import OfflinePipeline

EVENTS = [
    (b"p", b"1", 30, ()),
    (b"p", b"2", 20, ()),
    (b"q", b"1", 40, ()),
    (b"q", b"0", 25, ()),  # forgets q: what came before does not count any more
    (b"q", b"3", 15, ()),
    (b"q", b"4", 10, ()),
]


def total(old: int, new: int) -> int | None:
    return None if new == 0 else old + new


def by_key(grouped: GroupedStream, cache: bool) -> Result:
    return grouped.reduce(total, "totals", cache=cache)


def by_window(grouped: GroupedStream, cache: bool) -> Result:
    windows = tumbling(100, grace=100)
    return grouped.windowed_by(windows).reduce(total, "totals", cache=cache)


def of_few(grouped: GroupedStream, cache: bool) -> Result:
    return grouped.lru(2).reduce(total, "totals", cache=cache)


@pytest.mark.parametrize("fold", [by_key, by_window, of_few], ids=lambda each: each.__name__)
@pytest.mark.parametrize("cuts", [(), (1,), (3, 4), range(6)], ids=str)
@pytest.mark.parametrize("cache", [True, False], ids=["cached", "every update"])
def test_a_row_keeps_the_largest_time(fold, cuts, cache) -> None:  # type: ignore[no-untyped-def]
    app = Pipeline("app", bootstrap_servers="none:1")
    result = fold(app.stream("events").group_by_key(), cache)
    pipeline = OfflinePipeline(app)
    pipeline.run({"events": EVENTS}, cuts)
    rows = {key[:1]: kept for key, kept in pipeline.table(result.topic).items()}
    assert rows == {b"p": (b"3", 30), b"q": (b"7", 15)}


def test_a_tombstone_has_the_time_of_the_record_that_made_it() -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    result = by_key(app.stream("events").group_by_key(), cache=True)
    for cuts in ((3,), (1, 3), range(6)):
        pipeline = OfflinePipeline(app)
        pipeline.run({"events": [*EVENTS[:4], (b"p", b"9", 50, ())]}, cuts)
        times = [at_ms for _, value, at_ms, _ in pipeline.topic(result.topic or "") if not value]
        assert times == [25]
