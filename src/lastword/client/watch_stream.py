"""The common part of both watches: one stream at a time, replaced when it is lost."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from lastword.client.calls.watching import SILENCE_S, ChangeReader
from lastword.client.http.failures import AnswerLostError
from lastword.clock import Clock
from lastword.records import Position


class Stream(Protocol):
    """A connection on which changes arrive; ``body`` came with the answer's head."""

    @property
    def body(self) -> bytes:
        """What has arrived before the first read."""

    def close(self) -> None:
        """Close the connection; idempotent."""


S = TypeVar("S", bound=Stream)


class WatchStream(Generic[S]):
    """Passes received bytes to ``changes``; ``stream`` is None after it ended or fell silent."""

    def __init__(self, changes: ChangeReader, clock: Clock) -> None:
        self._changes = changes
        self._clock = clock
        self._closed = False
        self._heard_at = 0.0
        self._stream: S | None = None

    @property
    def position(self) -> Position:
        """Just after the last change that was taken."""
        return self._changes.position

    def _take_over(self, stream: S) -> S:
        """Follow a stream that was just opened, unless the watch was closed meanwhile."""
        self._stream = stream
        self._heard_at = self._clock.monotonic()
        if self._closed:
            stream.close()
        self._feed(stream.body)
        return stream

    def _hear(self, data: bytes | None) -> None:
        """Handle the result of a read: empty at the end of the stream, None after a timeout."""
        if data:
            self._heard_at = self._clock.monotonic()
            self._feed(data)
        elif data is not None or self._is_silent():
            self._drop()

    def _is_silent(self) -> bool:
        return self._clock.monotonic() - self._heard_at > SILENCE_S

    def _feed(self, data: bytes) -> None:
        if self._changes.feed(data):
            self._drop()

    def _drop(self) -> None:
        """Close a connection that has ended; the next read opens another."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def nothing_sent() -> AnswerLostError:
    """The error of a watch that was accepted and never began."""
    return AnswerLostError("the service accepted a watch and sent nothing")
