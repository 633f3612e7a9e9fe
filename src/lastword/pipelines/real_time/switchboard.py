"""The driver's end of the connections to its long tasks; one switchboard for each Spark job."""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from lastword.pipelines.real_time.messages import (
    LINE_BYTES_MAX,
    TO_DRIVER,
    MembershipProof,
    Stop,
    TaskHello,
    TaskReports,
    ToTask,
    as_line,
)
from lastword.pipelines.task.task_report import TaskReport

log = logging.getLogger(__name__)

_HELLO_S = 10.0


class Switchboard:
    """Tasks reach it at ``host``; a task proves with ``token`` that this driver started it.

    It listens on ``bind``, which differs from ``host`` behind a network address translation.
    ``metadata`` returns the driver's current proof of membership. Reports go to ``on_reports``, on
    threads of the switchboard.
    """

    def __init__(
        self,
        host: str,
        metadata: Callable[[], bytes],
        on_reports: Callable[[Sequence[TaskReport]], None],
        *,
        bind: str | None = None,
    ) -> None:
        self.token = secrets.token_hex(16)
        self._metadata = metadata
        self._on_reports = on_reports
        self._listener = socket.create_server((bind or host, 0))
        self.address: tuple[str, int] = (host, self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._lines: dict[int, socket.socket] = {}
        self._is_stopping = False
        threading.Thread(target=self._accept, name="switchboard", daemon=True).start()

    @property
    def tasks(self) -> list[int]:
        """The numbers of the connected tasks."""
        with self._lock:
            return sorted(self._lines)

    def stop_tasks(self) -> None:
        """Stop every task, including those that connect later."""
        with self._lock:
            self._is_stopping = True
            lines = list(self._lines.values())
        for line in lines:
            _send(line, Stop())

    def close(self) -> None:
        """Close all connections, which ends every task; idempotent."""
        self._listener.close()
        with self._lock:
            lines = list(self._lines.values())
        for line in lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Switchboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:  # closed
                return
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        task: int | None = None
        try:
            line.settimeout(_HELLO_S)
            lines = line.makefile("rb")
            hello = TO_DRIVER.decode(lines.readline(LINE_BYTES_MAX))
            if not isinstance(hello, TaskHello) or not hmac.compare_digest(hello.token, self.token):
                return
            line.settimeout(None)
            task = hello.task
            self._welcome(task, line)
            while text := lines.readline(LINE_BYTES_MAX):
                message = TO_DRIVER.decode(text)
                if isinstance(message, TaskReports):
                    self._on_reports(message.reports)
                else:
                    _send(line, MembershipProof(self._metadata()))
        except (OSError, ValueError, msgspec.DecodeError) as error:
            log.debug("the line of task %s: %s", task, error)
        finally:
            with self._lock:
                if task is not None and self._lines.get(task) is line:
                    del self._lines[task]
            line.close()

    def _welcome(self, task: int, line: socket.socket) -> None:
        with self._lock:
            older = self._lines.get(task)
            self._lines[task] = line
            is_stopping = self._is_stopping
        if older is not None:  # an attempt that Spark has given up must stop
            _send(older, Stop(superseded=True))
        _send(line, MembershipProof(self._metadata()))
        if is_stopping:
            _send(line, Stop())


def _send(line: socket.socket, message: ToTask) -> None:
    with suppress(OSError):
        line.sendall(as_line(message))
