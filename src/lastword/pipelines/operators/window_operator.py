"""What windows of every kind need around their fold: final ones are told, old ones forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.pipelines.api.windows import Windows
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView, Update
from lastword.pipelines.operators.suppress import OpenWindows
from lastword.records import NO_HEADERS


class WindowOperator(Operator):
    """Has ``folding`` keep the windows in the first store, and looks after them.

    With ``hold_at_most`` given, the second store says which windows are open, and what goes on to
    the next stage are final windows: each once, when it closes, and as a tombstone when it has
    expired.
    """

    def __init__(
        self,
        folding: Operator,
        windows: Windows,
        retention_ms: int,
        *,
        hold_at_most: int | None = None,
    ) -> None:
        self._folding = folding
        self._windows = windows
        self._retention_ms = retention_ms
        self._hold_at_most = hold_at_most

    def process(self, events: Events, states: Sequence[StateView], context: BatchContext) -> Events:
        """Fold, tell what is final by now, and only then forget what is past its retention."""
        state = states[0]
        before_ms = context.stream_time_ms
        self._folding.process(events, states[:1], context)
        if self._hold_at_most is None:
            self._expire(events, before_ms, state, context)
            return Events.none()
        open_windows = OpenWindows(states[1], self._windows, self._hold_at_most)
        final = open_windows.close(state, before_ms, context)
        expired = self._expire(events, before_ms, state, context)
        gone: list[Update] = [(row, None, context.stream_time_ms, NO_HEADERS) for row in expired]
        return _told([*final, *gone])

    def _expire(
        self, events: Events, before_ms: int, state: StateView, context: BatchContext
    ) -> list[bytes]:
        """Forget old windows, a quarter of the retention at a time: each pass reads the store.

        What is left depends on the last quarter that stream time entered and on nothing else,
        so that it is the same however the records were cut into batches.
        """
        quarter_ms = max(self._retention_ms // 4, 1)
        quarter = context.stream_time_ms // quarter_ms
        if quarter == before_ms // quarter_ms:
            return []
        kept_from_ms = quarter * quarter_ms - self._retention_ms
        if before_ms < 0 and min(events.timestamps, default=0) >= kept_from_ms:
            return []  # the first records of all, and none is that old
        last_ms = self._windows.last_ms
        expired = [row for row, _ in state.scan(None, None) if last_ms(row) < kept_from_ms]
        for row in expired:
            state.put(row, None, context.stream_time_ms)
            context.tally.updates += 1
        return expired


def _told(updates: Sequence[Update]) -> Events:
    """Rows of windows as events, for a topic; they come of many records and of no single one."""
    return Events(
        [""] * len(updates),
        [row for row, _, _, _ in updates],
        [value for _, value, _, _ in updates],
        [at_ms for _, _, at_ms, _ in updates],
        [-1] * len(updates),
    )
