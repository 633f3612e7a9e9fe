"""JSON's null, empty bytes and a tombstone are three different things to a pipeline, too.

An event with the value ``null`` was treated as one without a value: it was not counted, deleted
from ``latest`` and from tables, and a reduction started again after it.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from lastword.pipelines import NULL, Pipeline
from tests.support.on_spark.offline_pipeline import OfflinePipeline


def run(app: Pipeline, *values: bytes | None) -> OfflinePipeline:
    """With one batch for each event: what is stored is what the next one sees."""
    pipeline = OfflinePipeline(app)
    events = [(b"p", value, at_ms, ()) for at_ms, value in enumerate(values, 1)]
    pipeline.run({"events": events}, range(len(events)))
    assert not pipeline.tally.quarantined
    return pipeline


def test_a_null_is_counted_and_an_event_without_a_value_is_not() -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    counts = app.stream("events").group_by_key().count("counts")
    pipeline = run(app, b"1", b"null", None)
    assert pipeline.table(counts.topic) == {b"p": ((2).to_bytes(8, "big"), 2)}
    assert pipeline.tally.null_values == 1


@pytest.mark.parametrize(
    ("values", "kept"),
    [((b"1", b"null"), b"null"), ((b"1", None), None), ((b"null", None, b"null"), b"null")],
)
def test_only_a_tombstone_deletes(values: tuple[bytes | None, ...], kept: bytes | None) -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    events = app.stream("events").map_values(lambda value: value)
    latest = events.group_by_key().latest("latest", value="json")
    events.to_table("users")
    pipeline = run(app, *values)
    for topic in (latest.topic, "users"):
        rows = {key: value for key, (value, _) in pipeline.table(topic).items()}
        assert rows == ({} if kept is None else {b"p": kept})


def test_empty_bytes_are_a_value() -> None:
    app = Pipeline("app", bootstrap_servers="none:1")
    latest = app.stream("events", value="bytes").group_by_key().latest("latest")
    assert run(app, b"x", b"").table(latest.topic) == {b"p": (b"", 2)}


def test_a_function_gets_null_and_can_return_it() -> None:
    seen: list[Any] = []

    def reducer(old: Any, new: Any) -> Any:
        seen.append((old, new))
        return {"last": new} if old is NULL else NULL

    app = Pipeline("app", bootstrap_servers="none:1")
    reduced = app.stream("events").group_by_key().reduce(reducer, "reduced")
    pipeline = run(app, b"null", b"1", b"2", b"null")
    assert seen == [(NULL, 1), ({"last": 1}, 2), (NULL, NULL)]
    assert pipeline.table(reduced.topic) == {b"p": (b'{"last":null}', 4)}


def test_null_is_falsy_and_the_same_object_on_every_executor() -> None:
    assert not NULL
    assert pickle.loads(pickle.dumps(NULL)) is NULL  # noqa: S301 - our own
