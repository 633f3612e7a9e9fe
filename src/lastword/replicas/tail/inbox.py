"""Requests of other threads to the tailing thread, run in order between two polls."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from lastword.errors import NotReadyError, TableClosedError

T = TypeVar("T")

Task = Callable[[], None]
Post = Callable[[Task], None]
"""Have the tailing thread run a task."""


class Inbox:
    """Tasks for one thread. ``post`` and ``call`` are for any thread, ``run`` for that one."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._tasks: queue.SimpleQueue[tuple[Task, Future[Any] | None]] = queue.SimpleQueue()
        self._closed = False

    def __len__(self) -> int:
        return self._tasks.qsize()

    def post(self, task: Task) -> None:
        """Have ``task`` run soon; an error of it ends the tailing thread."""
        self._tasks.put((task, None))

    def call(self, task: Callable[[], T], timeout_s: float) -> T:
        """The result of ``task``, or its error, once it was run.

        Raises NotReadyError if the thread did not run it within ``timeout_s``, and
        TableClosedError when the thread has ended: then the task is never run.
        """
        answer: Future[T] = Future()

        def run() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(task())
                except Exception as error:  # noqa: BLE001 - it is the caller's to handle
                    answer.set_exception(error)

        self._tasks.put((run, answer))
        if self._closed:
            self._cancel_all()
        try:
            return answer.result(timeout_s)
        except CancelledError:
            raise TableClosedError(
                f"{self._topic} is no longer followed", hint="make a new Table to open it again"
            ) from None
        except TimeoutError:
            if not answer.cancel():
                return answer.result()  # it has begun, and a task is short
            raise NotReadyError(
                f"{self._topic} was too busy for {timeout_s:.0f} s to accept this request",
                hint="try again",
            ) from None

    def run(self) -> None:
        """Run the queued tasks."""
        while not self._tasks.empty():
            task, _ = self._tasks.get()
            task()

    def close(self) -> None:
        """The thread has ended: fail the calls that wait for it."""
        self._closed = True
        self._cancel_all()

    def _cancel_all(self) -> None:
        while True:
            try:
                _, answer = self._tasks.get_nowait()
            except queue.Empty:
                return
            if answer is not None:
                answer.cancel()
