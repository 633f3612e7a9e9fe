"""A watch for threads: an iterator of changes that resumes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType

from lastword.client.calls.watching import ChangeReader
from lastword.client.http.failures import AnswerLostError
from lastword.client.http.pool import BlockingStream
from lastword.client.watch_stream import WatchStream, nothing_sent
from lastword.clock import Clock
from lastword.table.entry import Change

WAIT_S = 0.5

OpenStream = Callable[[ChangeReader], BlockingStream]


class RemoteWatch(WatchStream[BlockingStream]):
    """Every change from a moment on; ends only when closed and never skips one silently.

    ``position`` is where another watch continues after the last change taken. A broken
    connection is replaced, and the watch resumes where it was. One thread takes changes; any
    thread may close.
    """

    def __init__(self, changes: ChangeReader, open_stream: OpenStream, clock: Clock) -> None:
        super().__init__(changes, clock)
        self._open = open_stream
        self._begin()

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while not self._closed:
            change = self.take(WAIT_S)
            if change is not None:
                return change
        raise StopIteration

    def take(self, timeout_s: float) -> Change | None:
        """The next change, or None when there is none within ``timeout_s``."""
        deadline = self._clock.monotonic() + timeout_s
        while not self._closed:
            change = self._changes.take()
            if change is not None:
                return change
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                return None
            self._read(left_s)
        return None

    def close(self) -> None:
        """Stop watching, which ends the iteration; idempotent."""
        self._closed = True
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> RemoteWatch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self) -> None:
        self._connect()
        while not self._changes.begun and not self._closed:
            if self._is_silent():
                self.close()
                raise nothing_sent()
            self._read(WAIT_S)

    def _connect(self) -> BlockingStream:
        return self._take_over(self._open(self._changes))

    def _read(self, timeout_s: float) -> None:
        stream = self._stream or self._connect()
        try:
            self._hear(stream.read(timeout_s))
        except AnswerLostError:
            self._drop()
