"""One child process and the lock that says whether it lives, for its starter and for others.

The lock, not the pid file, is the truth: the kernel releases it when the process ends in any way,
so a pid file left by a crash is never mistaken for a running server, and a pid that now belongs to
another program is never signaled.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ServerProcessError
from lastword.jvm.file_lock import acquire, is_locked

_log = logging.getLogger(__name__)

_LAUNCHER = Path(__file__).with_name("launcher.py")
_LOCK_SECONDS = 1.0  # longer than another process takes to look whether the lock is free
_LAUNCHER_SECONDS = 20.0
_KILL_SECONDS = 10.0
_PAUSE_SECONDS = 30.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class ServerKind:
    """What messages call a server, how a user stops one, and which error it raises."""

    name: str
    stop_command: str
    error: type[ServerProcessError]

    def already_running(self, directory: Path, pid: int | None) -> ServerProcessError:
        """The error that names the process that holds ``directory``."""
        return self.error(
            f"a {self.name} runs in {directory} already (process {pid})",
            hint=f"Use that one, or stop it first: {self.stop_command}",
        )


class ChildProcess:
    """The process of one directory, even if another process started it.

    The directory has its lock and its pid file: at most one process of a directory runs.
    """

    def __init__(self, kind: ServerKind, directory: Path) -> None:
        self._kind = kind
        self._directory = directory
        self._lock = directory / "lock"
        self._pid_file = directory / "pid"
        self._launcher: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id, or None when it does not run."""
        if not self.is_running():
            return None
        try:
            return int(self._pid_file.read_text(encoding="ascii"))
        except FileNotFoundError:
            return None  # another process is starting it

    def is_running(self) -> bool:
        """Whether the process lives; a paused one does, a crashed one does not."""
        return is_locked(self._lock)

    def launch(
        self,
        command: Sequence[str],
        console: Path,
        *,
        detached: bool,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Start ``command`` with its output in ``console``.

        Unless ``detached``, it ends when this process ends, even by a kill. ``environ`` is
        its whole environment; without one it has that of this process.
        """
        try:
            lock_fd = acquire(self._lock, _LOCK_SECONDS)
        except TimeoutError:
            raise self._kind.already_running(self._directory, self.pid) from None
        try:
            self._pid_file.unlink(missing_ok=True)
            parent = "0" if detached else str(os.getpid())
            launcher = [sys.executable, "-I", "-S", str(_LAUNCHER)]
            arguments = [parent, str(lock_fd), str(self._pid_file), str(console)]
            self._launcher = subprocess.Popen(  # noqa: S603 - this Python and our own script
                [*launcher, *arguments, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(lock_fd,),
                env=environ,
                start_new_session=True,  # Ctrl-C is for this process; it stops the server itself
            )
        finally:
            os.close(lock_fd)
        assert self._launcher.stdout is not None  # noqa: S101 - a pipe was asked for
        with self._launcher.stdout as said:
            started = said.readline()
        if detached or not started:
            self._reap()
        if not started:
            raise self._kind.error(f"{command[0]} could not be started")

    def send(self, which: signal.Signals) -> None:
        """Send a signal; raises an error of its kind if there is no process."""
        if not self._signalled(which):
            raise self._kind.error(f"no {self._kind.name} runs in {self._directory}")

    def pause(self) -> None:
        """Freeze it, and return once every thread has stopped.

        On a busy machine a thread may run on for a while after the signal.
        """
        self.send(signal.SIGSTOP)
        deadline = SYSTEM_CLOCK.monotonic() + _PAUSE_SECONDS
        while (pid := self.pid) is not None and not _stands_still(pid):
            if SYSTEM_CLOCK.monotonic() > deadline:
                raise self._kind.error(f"the {self._kind.name} in {self._directory} does not pause")
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def ask_to_stop(self) -> None:
        """Ask for an orderly end without waiting for it; nothing when it does not run."""
        self._signalled(signal.SIGTERM)
        self._signalled(signal.SIGCONT)  # a paused process would sleep through the first signal

    def wait_until_stopped(self, timeout: float) -> None:
        """Wait for the process to end; after ``timeout`` seconds it is killed."""
        if not self._ends_within(timeout):
            _log.warning("%s did not stop within %g seconds: killed", self._directory, timeout)
            self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would; nothing happens when it does not run."""
        self._signalled(signal.SIGKILL)
        if not self._ends_within(_KILL_SECONDS):
            raise self._kind.error(
                f"the {self._kind.name} in {self._directory} (process {self.pid}) does not die"
            )

    def _signalled(self, which: signal.Signals) -> bool:
        if (pid := self.pid) is None:
            return False
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            return False  # it ended between the look and the signal
        return True

    def _ends_within(self, seconds: float) -> bool:
        deadline = SYSTEM_CLOCK.monotonic() + seconds
        while self.is_running():
            if SYSTEM_CLOCK.monotonic() > deadline:
                return False
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)
        self._reap()
        return True

    def _reap(self) -> None:
        if self._launcher is not None:
            self._launcher.wait(_LAUNCHER_SECONDS)
            self._launcher = None


def _stands_still(pid: int) -> bool:
    """Whether all threads are stopped; a system without /proc is taken at its word."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            state = stat.read_text(encoding="ascii", errors="replace").rpartition(") ")[2][:1]
            if state not in "TtZX":
                return False
    return True
