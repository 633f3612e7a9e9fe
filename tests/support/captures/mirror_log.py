"""Change events of a made-up table, and the operator that mirrors them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from lastword.cdc.change import Operation, Row, RowChange, Snapshot, SourcePosition
from lastword.codecs.row import RowCodec
from lastword.pipelines.operators.mirror import MirrorRows
from lastword.pipelines.operators.mirror_shape import Shape
from tests.support.java_peers.streams_model import Event
from tests.support.on_spark.operator_run import OperatorRun


def rows(run: OperatorRun) -> dict[str, Row]:
    decode = RowCodec().decode
    assert run.table == run.table_by_changelog
    return {key.decode(): decode(row) for key, row in run.table.items()}


def mirror(shape: Shape | None = None, *, every_update: bool = False) -> OperatorRun:
    return OperatorRun(MirrorRows(shape or Shape()), stores=2, every_update=every_update)


def mirrored(given: Sequence[Event], shape: Shape | None = None) -> OperatorRun:
    run = mirror(shape)
    run.process(given)
    return run


class Log:
    """Change events of a made-up table, one after the other."""

    def __init__(self) -> None:
        self.lsn = count(100)

    def event(
        self,
        operation: str,
        key: int | None,
        row: Row | None = None,
        *,
        at: SourcePosition | None = None,
        snapshot: Snapshot = Snapshot.NO,
    ) -> Event:
        lsn = next(self.lsn)
        position = at or SourcePosition(lsn, lsn)
        change = RowChange(
            Operation(operation), None, row, position, "7", snapshot, "public.t", 1_000
        )
        return Event(None if key is None else b'{"id":%d}' % key, change, 1_000)

    def snapshot(self, at: int, *keys: int) -> list[Event]:
        """All rows of a table with these keys, found at a position."""
        return [
            self.event(
                "r",
                key,
                {"id": key, "at": at},
                at=SourcePosition(None, at),
                snapshot=Snapshot.LAST if key == keys[-1] else Snapshot.ROW,
            )
            for key in keys
        ]
