"""The result of a session merger is passed to the aggregator unchanged, also None.

None was replaced by the initial value, which Kafka Streams does not do.
"""

from __future__ import annotations

from typing import Any

from lastword.pipelines import Pipeline, session
from tests.support.on_spark.offline_pipeline import OfflinePipeline


def test_the_aggregator_gets_the_result_none_of_a_merger() -> None:
    given: list[Any] = []

    def aggregator(_key: str, value: int, aggregate: Any) -> Any:
        given.append(aggregate)
        return value

    app = Pipeline("app", bootstrap_servers="none:1")
    grouped = app.stream("events").group_by_key().windowed_by(session(10))
    grouped.aggregate(lambda: 100, aggregator, "last", merger=lambda _key, _one, _two: None)
    pipeline = OfflinePipeline(app)
    pipeline.run({"events": [(b"p", b"1", 5, ()), (b"p", b"2", 6, ())]})
    assert given == [100, None]
