"""One Kafka process and the lock that says whether it lives, for its starter and for others.

The lock, not the pid file, is the truth: the kernel releases it when the process ends in any
way, so a pid file left by a crash is never mistaken for a running broker, and a pid
that meanwhile belongs to another program is never signalled.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import BrokerError

_GUARD = Path(__file__).with_name("guard.py")
_LAUNCH_SECONDS = 20.0
_KILL_SECONDS = 10.0
_POLL_SECONDS = 0.02
# A process that only looks whether the lock is free holds it for a moment.
_LOCK_SECONDS = 1.0


class NodeProcess:
    """The Kafka process of one node directory, whoever started it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = directory / "lock"
        self._pid_file = directory / "pid"
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id, or None when it does not run."""
        if not self.is_running():
            return None
        try:
            return int(self._pid_file.read_text(encoding="ascii"))
        except FileNotFoundError:  # being started by somebody at this moment
            return None

    def launch(self, command: Sequence[str], console: Path, *, detached: bool) -> int:
        """Start ``command`` with its output in ``console`` and return its process id.

        Unless ``detached``, it ends when this process ends, however that happens.
        """
        lock_fd = self._take_lock()
        try:
            self._pid_file.unlink(missing_ok=True)
            parent = "0" if detached else str(os.getpid())
            self._guard = subprocess.Popen(  # noqa: S603 - this Python and our own script
                [
                    *(sys.executable, "-I", "-S", str(_GUARD)),
                    *(parent, str(lock_fd), str(console)),
                    *command,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(lock_fd,),
                start_new_session=True,  # Ctrl-C is for this process, which stops the broker itself
            )
        finally:
            os.close(lock_fd)
        pid = self._pid_from_guard(self._guard)
        self._pid_file.write_text(str(pid), encoding="ascii")
        if detached:
            self._reap()
        return pid

    def is_running(self) -> bool:
        """Whether the process lives; a stopped (SIGSTOP) one does, a crashed one does not."""
        try:
            fd = os.open(self._lock, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def send(self, which: signal.Signals) -> None:
        """Send a signal; raises BrokerError when there is no process to send it to."""
        if (pid := self.pid) is None:
            raise BrokerError(f"no broker runs in {self._directory}")
        os.kill(pid, which)

    def wait_for_end(self, timeout: float) -> bool:
        """Whether the process has ended within ``timeout`` seconds."""
        deadline = SYSTEM_CLOCK.monotonic() + timeout
        while self.is_running():
            if SYSTEM_CLOCK.monotonic() > deadline:
                return False
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)
        self._reap()
        self._pid_file.unlink(missing_ok=True)
        return True

    def kill(self) -> None:
        """End it at once, as a crash would; nothing happens when it does not run."""
        if self.pid is not None:
            self.send(signal.SIGKILL)
        if not self.wait_for_end(_KILL_SECONDS):
            raise BrokerError(f"the broker in {self._directory} does not die", hint="Look at ps.")

    def _take_lock(self) -> int:
        self._directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o644)
        deadline = SYSTEM_CLOCK.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except BlockingIOError:
                if SYSTEM_CLOCK.monotonic() > deadline:
                    os.close(fd)
                    raise BrokerError(
                        f"a broker runs in {self._directory} already (process {self.pid})",
                        hint="Use it, or stop it first: lastword broker stop",
                    ) from None
                SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def _pid_from_guard(self, guard: subprocess.Popen[bytes]) -> int:
        assert guard.stdout is not None  # noqa: S101 - a pipe was asked for
        with guard.stdout as said:
            answer = said.readline()
        if not answer:
            raise BrokerError(f"Java could not be started ({guard.wait(_LAUNCH_SECONDS)})")
        return int(answer)

    def _reap(self) -> None:
        if self._guard is not None:
            self._guard.wait(_LAUNCH_SECONDS)
            self._guard = None
