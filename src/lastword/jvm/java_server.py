"""A Java program that runs as a server on this machine: start, readiness and stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ServerProcessError
from lastword.jvm.child_process import ChildProcess, ServerKind
from lastword.jvm.java import Java
from lastword.jvm.ports import require_free
from lastword.private_files import make_private_directory

SMALL_SERVER = (
    "-Xmx512m",
    "-XX:+UseSerialGC",  # a small heap needs no parallel collector with its threads
    # Without the second compiler a start takes half the CPU time, and so do the first two
    # million records: a local server rarely runs long enough to benefit from it.
    "-XX:TieredStopAtLevel=1",
)
"""Options of Java that suit a server on a developer's machine."""

_LOG4J = Path(__file__).with_name("log4j2.xml")
_POLL_SECONDS = 0.05
_LAST_WORDS = 8


def log_options(log_file: Path) -> tuple[str, ...]:
    """Options of Java that make a program with log4j 2 write its log to ``log_file``."""
    return (f"-Dlog4j2.configurationFile={_LOG4J}", f"-Dlastword.log={log_file}")


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """The program to run: ``main`` is a class of the class path, or the path of a runnable jar."""

    java: Java
    main: str | Path
    class_path: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The command line."""
        class_path = ("-cp", os.pathsep.join(map(str, self.class_path))) if self.class_path else ()
        main = (self.main,) if isinstance(self.main, str) else ("-jar", str(self.main))
        return self.java.command(*self.options, *class_path, *main, *self.arguments)


class JavaServer:
    """A server and its directory; one that was stopped or killed can be started again.

    kind       what messages call it, and the type of its errors
    directory  has its lock, its pid and what it prints (``console.log``)
    ports      what it will listen on, of the loopback address
    log_file   the log file that it writes; None if it only prints
    name       what messages call this one, when there are several of its kind
    detached   whether it stays when this process ends; otherwise it ends with this process,
               even when that is killed
    environ    its whole environment; None for that of this process
    """

    def __init__(
        self,
        kind: ServerKind,
        directory: Path,
        *,
        ports: Sequence[int],
        log_file: Path | None = None,
        name: str | None = None,
        detached: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._kind = kind
        self._name = name or kind.name
        self._directory = directory
        self._ports = ports
        self._detached = detached
        self._environ = environ
        self._process = ChildProcess(kind, directory)
        self._console = directory / "console.log"
        self._log_file = log_file
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The id of the Java process, or None when it does not run."""
        return self._process.pid

    @property
    def log_file(self) -> Path:
        """The file that has its log."""
        return self._log_file or self._console

    def require_startable(self) -> None:
        """An error that names the process which runs here already, or has one of the ports."""
        if (pid := self.pid) is not None:
            raise self._kind.already_running(self._directory, pid)
        self._require_free_ports()

    def launch(self, program: JavaProgram) -> None:
        """Start ``program`` without waiting for it to answer.

        An error that names the process when one runs in this directory already.
        """
        make_private_directory(self._directory)
        self._log_start = _size(self._log_file)
        self._process.launch(
            program.command(), self._console, detached=self._detached, environ=self._environ
        )

    def wait_until_ready(self, is_ready: Callable[[], bool], timeout: float) -> None:
        """Return once ``is_ready`` says so; an error when the process dies or takes longer.

        ``is_ready`` is called repeatedly. It must return soon, and return False instead of raising
        while nothing listens.
        """
        deadline = SYSTEM_CLOCK.monotonic() + timeout
        while not is_ready():
            if not self._process.is_running():
                raise self._death()
            if SYSTEM_CLOCK.monotonic() > deadline:
                raise self._kind.error(
                    f"{self._name} does not answer within {timeout:g} seconds",
                    hint=f"Its log is {self.log_file}",
                )
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def start(self, program: JavaProgram, is_ready: Callable[[], bool], timeout: float) -> None:
        """Start ``program`` and return once it is ready; one that never gets there is killed."""
        self.require_startable()
        self.launch(program)
        try:
            self.wait_until_ready(is_ready, timeout)
        except BaseException:
            self.kill()
            raise

    def ask_to_stop(self) -> None:
        """Ask for an orderly end without waiting for it; nothing when it does not run."""
        self._process.ask_to_stop()

    def wait_until_stopped(self, timeout: float = 30.0) -> None:
        """Wait for the process to end; after ``timeout`` seconds it is killed."""
        self._process.wait_until_stopped(timeout)

    def stop(self, timeout: float = 30.0) -> None:
        """End the process in order, or by force after ``timeout`` seconds; its files stay."""
        self.ask_to_stop()
        self.wait_until_stopped(timeout)

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL)."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open, nothing is answered."""
        self._process.pause()

    def resume(self) -> None:
        """Resume a paused process."""
        self._process.send(signal.SIGCONT)

    def _require_free_ports(self) -> None:
        for port in self._ports:
            require_free(port)

    def _death(self) -> ServerProcessError:
        self._require_free_ports()  # someone may have been faster
        said = self._console.read_text(encoding="utf-8", errors="replace").splitlines()
        if self._log_file is not None and self._log_file.exists():
            log = self._log_file.read_bytes()[self._log_start :].decode(errors="replace")
            said += [line for line in log.splitlines() if " ERROR " in line or "Exception" in line]
        return self._kind.error(
            f"{self._name} died while starting:\n" + "\n".join(said[-_LAST_WORDS:]),
            hint=f"Its log is {self.log_file}",
        )


def _size(path: Path | None) -> int:
    return path.stat().st_size if path is not None and path.exists() else 0
