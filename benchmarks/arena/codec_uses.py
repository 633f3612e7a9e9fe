"""What Lastword does with a codec, without Kafka and Spark around it: only the codec differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from lastword.codecs import ValueCodec, codec
from lastword.codecs.batches import decode_batch, decode_singly
from lastword.codecs.columns.typed_column import ColumnCodec, TypedColumn
from lastword.column_batch import ColumnBatch
from lastword.errors import DecodeError
from lastword.keyspace import Keyspace
from lastword.metrics import Counter
from lastword.pipelines.api.folds import Sum
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.operators.fold_operator import FoldOperator
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.task_input import RawRecords, decode
from lastword.records import TableRules
from lastword.snapshots.catalog.decoded_columns import DecodedColumn, decoded_columns
from lastword.stores.memory import MemoryStore
from lastword.table.decoder import Decoder

TOPIC = "benchmark-codecs"
BATCH = 10_000
FOLDED_KEYS = 1000

Use = Callable[[], object]


class Foreign(ValueCodec):
    """Another deserializer in the place of a codec, used as Lastword uses any codec."""

    name = "foreign"

    def __init__(self, read: Callable[[bytes], Any]) -> None:
        self._read = read

    def encode(self, value: Any) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        try:
            return self._read(data)
        except Exception as error:
            raise DecodeError(str(error)) from error


def uses_of(coder: Any, data: Sequence[bytes], column: TypedColumn) -> dict[str, Use]:
    """The uses of a codec by name; ``column`` is that of values with the same schema."""
    batches = [data[start : start + BATCH] for start in range(0, len(data), BATCH)]
    return {
        "get": lambda: [coder.decode(each) for each in data],
        "a batch": lambda: [_check(not decode_batch(coder, each).bad) for each in batches],
        "restore with quarantine": partial(_restore, coder, batches),
        "to Arrow": partial(_to_arrow, coder, column, batches),
        "fold": partial(_fold, coder, batches),
    }


def _restore(coder: Any, batches: Sequence[Sequence[bytes]]) -> None:
    """What the follower of a partition does with a batch before it writes to the store."""
    decoder = Decoder(TOPIC, codec("string"), coder, "quarantine", Counter())
    rules = TableRules(Keyspace(1))
    for values in batches:
        found = _batch(values).table_rows(rules, decoder.validator())
        _check(len(found.puts) == len(values))


def _batch(values: Sequence[bytes]) -> ColumnBatch:
    count = len(values)
    return ColumnBatch(
        partition=0,
        keys=[b"user-%d" % i for i in range(count)],
        values=values,
        offsets=range(count),
        timestamps=[1] * count,
        headers=[None] * count,
        next_offset=count,
    )


def _to_arrow(coder: Any, column: TypedColumn, batches: Sequence[Sequence[bytes]]) -> None:
    """What a task of a snapshot does with its values; another deserializer's go to Arrow as is."""
    if isinstance(coder, ColumnCodec):
        decoded = decoded_columns(codec("string"), coder).value
    else:
        foreign = TypedColumn(column.type, partial(decode_singly, coder.decode), exact=True)
        decoded = DecodedColumn(column.type, coder, foreign)
    _check(decoded is not None)
    for values in batches:
        found = decoded.decoded(pa.array(values, pa.binary()))
        _check((len(found.array), found.unfit) == (len(values), 0))


def _fold(coder: Any, batches: Sequence[Sequence[bytes]]) -> None:
    """What a task of a pipeline does with its input: a sum per key, in its store."""
    store = AnyKeyStore(MemoryStore())
    store.open()
    fold = Sum("visits")
    operator = FoldOperator(fold, key="string", value="int64")
    for values in batches:
        context, state = BatchContext(), StateView(store, every_update=False)
        count = len(values)
        raw = RawRecords(
            [b"user-%d" % (i % FOLDED_KEYS) for i in range(count)],
            list(values),
            list(range(count)),
            [1] * count,
            [{}] * count,
        )
        events = decode(SourcePlan(TOPIC, coder), raw, 0, context, fold.fields)
        operator.process(events, [state], context)
        _check(not context.bad)
        state.commit(b"checkpoint", count)


def _check(right: bool) -> None:
    if not right:
        raise SystemExit("not every value was decoded")
