"""The base class of Java servers with one process, which run during a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from lastword.jvm.java_server import JavaServer


class EmbeddedServer(ABC):
    """Starts in ``with``, or by ``start``, and ends in order."""

    def __init__(self, server: JavaServer) -> None:
        self._server = server

    @property
    def pid(self) -> int | None:
        """The id of its process, or None when it does not run."""
        return self._server.pid

    @abstractmethod
    def start(self) -> None:
        """Start it, and return once it takes requests."""

    def stop(self) -> None:
        """End it in order; idempotent."""
        self._server.stop()

    def kill(self) -> None:
        """End it as a crash would."""
        self._server.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
