"""Builds the operator of a fold on the executor: codecs are sent by name, not as objects."""

from __future__ import annotations

from dataclasses import dataclass

from lastword.codecs.resolve import CodecSpec
from lastword.pipelines.api.folds import Fold
from lastword.pipelines.api.windows import SessionWindows, TimeWindows, Windows
from lastword.pipelines.operators.fold_operator import FoldOperator
from lastword.pipelines.operators.lru_operator import LruOperator
from lastword.pipelines.operators.operator import Operator
from lastword.pipelines.operators.session_operator import SessionOperator
from lastword.pipelines.operators.window_operator import WindowOperator


@dataclass(frozen=True)
class MakeFold:
    """A fold per key, per key and window, or over a fixed number of keys.

    ``retention_ms`` is how long closed windows are kept, ``reach_ms`` how long after its end a
    session can still be joined. ``hold_at_most`` is the limit of suppressed open windows; None
    suppresses nothing.
    """

    fold: Fold
    key: CodecSpec
    value: CodecSpec
    windows: Windows | None = None
    retention_ms: int = 0
    reach_ms: int = 0
    capacity: int | None = None
    every_update: bool = False
    hold_at_most: int | None = None

    def __call__(self) -> Operator:
        """A fresh operator for one task."""
        if self.capacity is not None:
            return LruOperator(
                self.fold,
                key=self.key,
                value=self.value,
                capacity=self.capacity,
                every_update=self.every_update,
            )
        if self.windows is None:
            return self._by_row(None)
        return WindowOperator(
            self._sessions(self.windows)
            if isinstance(self.windows, SessionWindows)
            else self._by_row(self.windows),
            self.windows,
            self.retention_ms,
            hold_at_most=self.hold_at_most,
        )

    def _by_row(self, windows: Windows | None) -> FoldOperator:
        assert windows is None or isinstance(windows, TimeWindows)  # noqa: S101 - for mypy
        return FoldOperator(
            self.fold,
            key=self.key,
            value=self.value,
            windows=windows,
            every_update=self.every_update,
        )

    def _sessions(self, windows: SessionWindows) -> SessionOperator:
        final = self.hold_at_most is not None
        return SessionOperator(
            self.fold,
            key=self.key,
            value=self.value,
            windows=windows,
            reach_ms=windows.open_ms if final else self.reach_ms,
            emits_final=final,
            every_update=self.every_update,
        )
