"""A registry that does not answer fails the task; no record is quarantined for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lastword.codecs.base import Context
from lastword.codecs.registry import Registry
from lastword.codecs.registry.avro import AvroCodec
from lastword.errors import ConfigError, RegistryError
from lastword.jvm.ports import free_ports
from lastword.pipelines import Pipeline
from lastword.pipelines.api.folds import Count, Latest
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.fold_operator import FoldOperator
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.steps import EncodeValues, Filter, SelectKey
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.task_input import RawRecords, decode
from lastword.stores.memory import MemoryStore

UNKNOWN = b"\x00\x00\x00\x00\x07\x02a"


def unreachable() -> AvroCodec:
    codec = Registry(f"http://127.0.0.1:{free_ports(1)[0]}").avro()
    return codec.bound(Context("events", "value"))


def events() -> Events:
    return Events(["events"], [UNKNOWN], ["a"], [1], [0])


def state() -> StateView:
    store = AnyKeyStore(MemoryStore())
    store.open()
    return StateView(store, every_update=False)


Use = Callable[[AvroCodec, BatchContext], object]


@pytest.mark.parametrize(
    "use",
    [
        lambda codec, context: decode(
            SourcePlan("events", codec), RawRecords([b"k"], [UNKNOWN], [0], [1]), 0, context
        ),
        lambda codec, context: Filter(lambda _key, _value: True, codec)(events(), context),
        lambda codec, context: SelectKey(lambda _key, value: value, codec)(events(), context),
        lambda codec, context: EncodeValues(codec)(events(), context),
        lambda codec, context: FoldOperator(Count(), key=codec, value="int64").process(
            events(), [state()], context
        ),
        lambda codec, context: FoldOperator(Latest(), key="bytes", value=codec).process(
            events(), [state()], context
        ),
    ],
    ids=["source", "filter", "select_key", "to_table", "key of a result", "value of a result"],
)
def test_the_task_fails_and_quarantines_nothing(use: Use) -> None:
    context = BatchContext()
    with pytest.raises(RegistryError, match="does not answer"):
        use(unreachable(), context)
    assert not context.bad


def test_streams_with_equal_key_codecs_can_be_merged() -> None:
    schemas = Registry("http://localhost:8081")
    app = Pipeline("shop", bootstrap_servers="localhost:9092")
    first, second = (app.stream(topic, key=schemas.avro('"long"')) for topic in ("a", "b"))
    first.merge(second).group_by_key().count("n")
    for other in (schemas.avro('"string"'), schemas.json_schema('{"type": "integer"}')):
        with pytest.raises(ConfigError, match="the same key codec"):
            first.merge(app.stream(f"of-{other.name}", key=other))
