"""A long task's connection to its driver. A task that loses its driver stops."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from lastword.errors import ConnectionFailedError
from lastword.pipelines.real_time.messages import (
    LINE_BYTES_MAX,
    TO_TASK,
    AskMembership,
    MembershipProof,
    Stop,
    TaskHello,
    TaskReports,
    ToDriver,
    as_line,
)
from lastword.pipelines.task.task_report import TaskReport

_CONNECT_S = 10.0
_ANSWER_S = 15.0


class DriverLine:
    """Receives the driver's membership and the order to stop; a lost line sets ``stopping``.

    The constructor connects: it raises ConnectionFailedError if the driver does not answer.
    """

    def __init__(self, address: tuple[str, int], token: str, task: int) -> None:
        self.stopping = threading.Event()
        self.metadata = b""
        self.is_superseded = False
        self.was_told_to_stop = False
        self._heard = threading.Condition()
        self._answers = 0
        try:
            self._socket = socket.create_connection(address, timeout=_CONNECT_S)
        except OSError as error:
            raise ConnectionFailedError(f"the driver at {address[0]} does not answer") from error
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send(TaskHello(token, task))
        threading.Thread(target=self._listen, name="driver-line", daemon=True).start()
        try:
            self._await_answer(1)
        except ConnectionFailedError:
            self.close()
            raise

    def ask_membership(self) -> bytes:
        """The driver's current proof of membership."""
        wanted = self._answers + 1
        self._send(AskMembership())
        self._await_answer(wanted)
        return self.metadata

    def report(self, reports: Sequence[TaskReport]) -> None:
        """Report commits; a lost line only sets ``stopping``."""
        self._send(TaskReports(list(reports)))

    def close(self) -> None:
        """Close the connection; idempotent."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _await_answer(self, wanted: int) -> None:
        with self._heard:
            self._heard.wait_for(
                lambda: self._answers >= wanted or self.stopping.is_set(), _ANSWER_S
            )
            if self._answers < wanted and not self.was_told_to_stop:
                raise ConnectionFailedError("the driver of this task no longer answers")

    def _send(self, message: ToDriver) -> None:
        try:
            self._socket.sendall(as_line(message))
        except OSError:
            self.stopping.set()

    def _listen(self) -> None:
        with suppress(OSError, ValueError, msgspec.DecodeError):
            lines = self._socket.makefile("rb")
            while line := lines.readline(LINE_BYTES_MAX):
                self._take(TO_TASK.decode(line))
        with self._heard:
            self.stopping.set()
            self._heard.notify_all()

    def _take(self, message: MembershipProof | Stop) -> None:
        with self._heard:
            if isinstance(message, MembershipProof):
                self.metadata = message.metadata
                self._answers += 1
            else:
                self.was_told_to_stop = True
                self.is_superseded = self.is_superseded or message.superseded
                self.stopping.set()
            self._heard.notify_all()
