"""The classes of a Java program in an archive that Java maps into memory instead of reading jars.

Java checks the archive against its version and class path, and ignores it if either differs.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import JavaError
from lastword.jvm.jar_set import Progress
from lastword.jvm.java import Java
from lastword.private_files import make_private_directory

log = logging.getLogger(__name__)

_WRITING_S = 1_800.0  # seconds on an idle machine; minutes have been seen on a busy one
_POLL_S = 1.0
# It only logs that an archive does not match, which is harmless.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive for one Java and one class path.

    It extends Java's own class archive, which a Java from a wheel lacks: then that one is made
    first, as ``base``. ``command`` makes it: what an error tells the user to try again.
    """

    java: Java
    path: Path
    base: Path | None
    command: str

    @classmethod
    def of(
        cls, directory: Path, java: Java, name: str, parts: Iterable[str], *, command: str
    ) -> ClassArchive:
        """Where it is in ``directory``, once it was made, for what ``parts`` identify."""
        executable = java.executable.resolve()
        of_java = [str(executable), str(java.release)]
        base = directory / f"java-{_digest(of_java)}.jsa"
        has_own = (executable.parent.parent / "lib" / "server" / "classes.jsa").exists()
        path = directory / f"{name}-{_digest([*of_java, *parts])}.jsa"
        return cls(java, path, None if has_own else base, command)

    def options(self) -> tuple[str, ...]:
        """The options of a Java that uses it; none before it was made."""
        if not self.path.exists():
            return ()
        files = [str(each) for each in (self.base, self.path) if each is not None]
        return (f"-XX:SharedArchiveFile={os.pathsep.join(files)}", "-Xshare:auto", *_QUIET)

    def options_to_make(self, made: Path) -> tuple[str, ...]:
        """The options of a Java that writes ``made`` at its end, with all classes it loaded."""
        base = () if self.base is None else (f"-XX:SharedArchiveFile={self.base}",)
        return (*base, f"-XX:ArchiveClassesAtExit={made}", *_QUIET)

    def unfinished(self) -> Path:
        """The name under which this process may have it written."""
        return self.path.with_name(f"{self.path.name}.{os.getpid()}")

    def make_base(self, progress: Progress | None = None) -> None:
        """Make sure that its base exists; raises JavaError if that takes too long."""
        make_private_directory(self.path.parent)
        if self.base is None or self.base.exists():
            return
        made = self.base.with_name(f"{self.base.name}.{os.getpid()}")
        command = self.java.command("-Xshare:dump", f"-XX:SharedArchiveFile={made}")
        quiet = subprocess.DEVNULL
        java = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)  # noqa: S603
        self.wait_for(java, made, progress)
        _put_in_place(made, self.base)

    def wait_for(
        self, java: subprocess.Popen[Any], made: Path, progress: Progress | None = None
    ) -> None:
        """Wait for a Java that writes ``made``; one that takes too long is killed: JavaError."""
        began = SYSTEM_CLOCK.monotonic()
        while True:
            try:
                java.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                waited_s = SYSTEM_CLOCK.monotonic() - began
                if waited_s >= _WRITING_S:
                    break
                if progress is not None:
                    progress(int(waited_s), int(_WRITING_S), "writing classes, in seconds")
            else:
                return
        java.kill()
        java.wait()
        made.unlink(missing_ok=True)
        raise JavaError(
            f"Java has not written its classes to {made.parent} within {_WRITING_S:.0f} s",
            hint=f"try again when the machine is less busy: {self.command}; everything runs "
            "without it and only takes longer to start",
        )

    def put_in_place(self, made: Path) -> bool:
        """Give a whole archive its name; False when this Java could not write one."""
        return _put_in_place(made, self.path)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _put_in_place(made: Path, archive: Path) -> bool:
    if not made.exists():
        log.info("this Java wrote no %s; programs start without", archive)
        return False
    made.replace(archive)
    return True
