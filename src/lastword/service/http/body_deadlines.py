"""Ends requests whose bodies take too long to arrive, with one timer for all of them.

Every write has a body. A timer for each would cost as much as reading it.
"""

from __future__ import annotations

import asyncio

_LOOKS = 20


class BodyDeadline:
    """When the body that ``task`` reads has to be here."""

    __slots__ = ("late", "task", "until")

    def __init__(self, task: asyncio.Task[object], until: float) -> None:
        self.task = task
        self.until = until
        self.late = False

    def ended_late(self) -> bool:
        """Whether the task was cancelled because of this, and for no other reason."""
        return self.late and self.task.uncancel() == 0


class BodyDeadlines:
    """The bodies that are being read; used on the event loop only.

    A body that has not arrived after ``limit_s``, or at most a twentieth of that later, has its
    task cancelled.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._open: set[BodyDeadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> BodyDeadline:
        """The current task starts to read; call ``end`` in any case."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a body is read by a task")
        deadline = BodyDeadline(task, loop.time() + self._limit_s)
        self._open.add(deadline)
        if self._timer is None:
            self._timer = loop.call_later(self._limit_s / _LOOKS, self._end_late)
        return deadline

    def end(self, deadline: BodyDeadline) -> None:
        """The body is here, or nobody waits for it any longer."""
        self._open.discard(deadline)

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for late in [each for each in self._open if each.until <= now]:
            self._open.discard(late)
            late.late = True
            late.task.cancel()
        self._timer = None
        if self._open:
            self._timer = loop.call_later(self._limit_s / _LOOKS, self._end_late)
