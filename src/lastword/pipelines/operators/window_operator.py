"""What all kinds of windows need around their fold: emit final windows, delete old ones."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.pipelines.api.windows import Windows
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext, Operator
from lastword.pipelines.operators.state_view import StateView, Update
from lastword.pipelines.operators.suppress import OpenWindows
from lastword.records import NO_HEADERS


class WindowOperator(Operator):
    """Lets ``folding`` update the windows in the first store, then emits and expires windows.

    With ``hold_at_most``, the second store has the open windows, and the node emits final windows:
    each once, when it closes, and a tombstone when it expires.
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
        """Fold, emit windows that are final now, and then delete those past their retention."""
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
        return _as_events([*final, *gone])

    def _expire(
        self, events: Events, before_ms: int, state: StateView, context: BatchContext
    ) -> list[bytes]:
        """Delete old windows, a quarter of the retention at a time: each pass reads the store.

        The remaining windows depend only on the last quarter that stream time entered, so they do
        not depend on how the records were split into batches.
        """
        quarter_ms = max(self._retention_ms // 4, 1)
        quarter = context.stream_time_ms // quarter_ms
        if quarter == before_ms // quarter_ms:
            return []
        kept_from_ms = quarter * quarter_ms - self._retention_ms
        if before_ms < 0 and min(events.timestamps, default=0) >= kept_from_ms:
            return []  # the very first records: no window is that old
        last_ms = self._windows.last_ms
        expired = [row for row, _ in state.scan(None, None) if last_ms(row) < kept_from_ms]
        for row in expired:
            state.put(row, None, context.stream_time_ms)
            context.tally.updates += 1
        return expired


def _as_events(updates: Sequence[Update]) -> Events:
    """Rows of windows as events for a topic; they have no offset of a single record."""
    return Events(
        [""] * len(updates),
        [row for row, _, _, _ in updates],
        [value for _, value, _, _ in updates],
        [at_ms for _, _, at_ms, _ in updates],
        [-1] * len(updates),
    )
