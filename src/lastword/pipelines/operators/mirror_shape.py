"""What a table shows of the rows of a mirror: which ones, which columns, under which key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lastword.cdc.change import Row
from lastword.codecs.row import RowCodec
from lastword.errors import EncodeError

_ROWS = RowCodec()

RowFunction = Callable[[Row], Any]


class MirrorChange(NamedTuple):
    """A row of a mirror before and after a change, None for no row; and the change's source."""

    old: bytes | None
    new: bytes | None
    source: bytes


class Output(NamedTuple):
    """One record for the table: its key, its value and its source; None deletes the key."""

    key: bytes
    value: Any
    source: bytes


class _Shown(NamedTuple):
    key: bytes
    row: bytes


@dataclass(frozen=True)
class Shape:
    """Functions of a row, in the order they were given.

    ``steps`` are (whether it filters, function): a filter keeps rows for which it holds, others
    return the row to go on with. ``key`` is a function of the row, for another key than the
    primary one. Functions get a row of their own, which they may change.
    """

    steps: tuple[tuple[bool, RowFunction], ...] = ()
    key: RowFunction | None = None

    @property
    def tells(self) -> bool:
        """Whether the table differs from the mirror."""
        return bool(self.steps) or self.key is not None

    def filtered(self, predicate: RowFunction) -> Shape:
        """Only the rows for which it holds."""
        return replace(self, steps=(*self.steps, (True, predicate)))

    def mapped(self, function: RowFunction) -> Shape:
        """What the function makes of each row."""
        return replace(self, steps=(*self.steps, (False, function)))

    def outputs(self, key: bytes, replaced: MirrorChange) -> list[Output]:
        """What to write when the row of the primary key ``key`` has changed."""
        old, new, source = replaced
        shown = None if new is None else self._shown(key, new)
        if self.key is None:
            # A row that was there may have matched, whatever the functions were by then.
            if shown is None:
                return [] if old is None else [Output(key, None, source)]
            return [Output(key, shown.row, source)]
        before = None if old is None else self._shown(key, old)
        # Headers do not pass a repartition topic, so the source is in the value.
        owned = {"owner": key.decode(), "source": source}
        outputs = []
        if before is not None and (shown is None or shown.key != before.key):
            outputs.append(Output(before.key, {**owned, "row": None}, source))
        if shown is not None:
            outputs.append(Output(shown.key, {**owned, "row": shown.row}, source))
        return outputs

    def _shown(self, key: bytes, encoded: bytes) -> _Shown | None:
        row: Any = _ROWS.decode(encoded)
        for filters, function in self.steps:
            result = function(row)
            if filters and not result:
                return None
            row = row if filters else result
        return _Shown(key if self.key is None else _text_key(self.key(row)), _ROWS.encode(row))


PLAIN = Shape()


def _text_key(key: Any) -> bytes:
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        raise EncodeError(
            f"a row cannot have the key {key!r}", hint="select_key() returns a text or a number"
        )
    return str(key).encode()
