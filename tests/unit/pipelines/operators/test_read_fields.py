"""Which members of its source's objects a pipeline needs: a codec may leave out the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import msgspec
import pytest

from lastword.codecs import ValueCodec
from lastword.codecs.batches import DecodedBatch, decode_singly
from lastword.pipelines import Pipeline, tumbling
from lastword.pipelines.api.stream import Stream
from tests.support.on_spark.offline_pipeline import OfflinePipeline

asked: list[tuple[str, ...]] = []


class Choosy(ValueCodec):
    """JSON that makes only the members that are asked for, and keeps which they were."""

    name = "choosy"

    def encode(self, value: Any) -> bytes:
        return msgspec.json.encode(value)

    def decode(self, data: bytes) -> Any:
        return msgspec.json.decode(data)

    def decode_fields(self, data: Sequence[bytes | None], fields: tuple[str, ...]) -> DecodedBatch:
        asked.append(fields)
        values = decode_singly(self.decode, data).values
        made = [
            {name: each for name, each in value.items() if name in fields} if value else value
            for value in values
        ]
        return DecodedBatch(made, {})


def folded(declare: Callable[[Stream], Any], timestamp: Any = None) -> dict[bytes, bytes]:
    """The table that a pipeline makes of two events of a key; what it asks for is in ``asked``."""
    asked.clear()
    app = Pipeline("shop", bootstrap_servers="none:1")
    result = declare(app.stream("visits", value=Choosy(), timestamp=timestamp))
    pipeline = OfflinePipeline(app)
    events = [{"n": 2, "at": 5, "text": "a"}, {"n": 3, "at": 6, "text": "b"}]
    values = [msgspec.json.encode(each) for each in events]
    pipeline.run({"visits": [(b"u", value, 1, ()) for value in values]})
    return {key: value for key, (value, _) in pipeline.table(result.topic).items()}


@pytest.mark.parametrize(
    ("declare", "fields", "expected"),
    [
        (lambda stream: stream.group_by_key().sum("n", "s"), ("n",), b"5"),
        (lambda stream: stream.group_by_key().count("s"), (), (2).to_bytes(8, "big")),
        (lambda stream: stream.group_by_key().max("n", "s"), ("n",), b"3"),
        (
            lambda stream: stream.group_by_key().avg("n", "s"),
            ("n",),
            b'{"avg":2.5,"count":2,"sum":5}',
        ),
    ],
    ids=["sum", "count", "max", "avg"],
)
def test_a_fold_of_a_field_asks_for_that_field(
    declare: Callable[[Stream], Any], fields: tuple[str, ...], expected: bytes
) -> None:
    assert folded(declare) == {b"u": expected}
    assert asked == [fields]


def test_the_member_with_the_time_is_asked_for_as_well() -> None:
    declare = lambda stream: stream.group_by_key().windowed_by(tumbling("1s")).sum("n", "s")  # noqa: E731
    assert list(folded(declare, "at").values()) == [b"5"]
    assert asked == [("at", "n")]


def test_the_members_of_all_folds_are_asked_for() -> None:
    def declare(stream: Stream) -> Any:
        stream.group_by_key().max("at", "latest")
        return stream.group_by_key().sum("n", "s")

    assert folded(declare) == {b"u": b"5"}
    assert asked == [("at", "n")]


def of_whole_values(stream: Stream) -> Any:
    stream.group_by_key().sum("n", "s")
    return stream.group_by_key().reduce(lambda _, new: new, "latest")


@pytest.mark.parametrize(
    ("declare", "timestamp"),
    [
        (of_whole_values, None),
        (lambda stream: stream.filter(lambda _, v: v["text"]).group_by_key().count("s"), None),
        (lambda stream: stream.group_by_key().sum(itemgetter("n"), "s"), None),
        (lambda stream: stream.group_by_key().sum("n", "s"), itemgetter("at")),
    ],
    ids=["reduce", "filter", "function", "time by a function"],
)
def test_whole_values_are_made_where_a_function_may_read_them(
    declare: Callable[[Stream], Any], timestamp: Any
) -> None:
    assert folded(declare, timestamp)
    assert not asked
