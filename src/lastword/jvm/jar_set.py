"""A named set of jars: downloaded once, always verified, then available offline."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lastword.errors import JavaError
from lastword.home import HomeFolder
from lastword.jvm import ivy, verification
from lastword.jvm.file_lock import locked
from lastword.jvm.ivy import Coordinate
from lastword.jvm.java import Java
from lastword.private_files import make_private_directory

CHECKSUMS = Path(__file__).with_name("checksums")
_LOCK_TIMEOUT_SECONDS = 30 * 60

Progress = Callable[[int, int, str], None]
"""Called with the steps done, all steps, and what is being done now."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """The modules to fetch with Ivy, and the committed list of the resulting jars.

    The jars run are exactly those of the list ``<name>.sha256`` in ``checksums``, or in
    ``listed_in`` for a set that is not the package's: a file that Ivy brings or somebody drops
    into the directory is never on the class path unless listed. For a new version, let Ivy
    retrieve the roots by hand and write the list with ``sha256sum``.

    ``excluded`` are modules of another set that is always on the class path as well. With
    ``files_only`` the roots are files that need nothing else.
    """

    name: str
    roots: tuple[Coordinate, ...]
    listed_in: Path | None = None
    excluded: tuple[str, ...] = ()
    files_only: bool = False

    def resolve(
        self,
        home: Path,
        java: Java,
        *,
        ivy_settings: Path | None = None,
        progress: Progress | None = None,
    ) -> list[Path]:
        """The verified jars below ``home``; starts Ivy only when one is missing.

        Safe to call from several processes at once: the others wait for the first.
        """
        directory = home / HomeFolder.JARS / self.name
        expected = verification.read_checksums(
            (self.listed_in or CHECKSUMS) / f"{self.name}.sha256"
        )
        if verification.missing(directory, expected):
            report = _Progress(len(expected), progress or _no_progress)
            try:
                with locked(home / HomeFolder.JARS / f"{self.name}.lock", _LOCK_TIMEOUT_SECONDS):
                    if verification.missing(directory, expected):  # no other process got them
                        self._download(directory, expected, java, ivy_settings, report)
            except TimeoutError as error:
                raise JavaError(
                    f"another process has been downloading the jars of {self.name} for too long",
                    hint=f"Stop it and try again: {error}",
                ) from error
        verification.verify(
            directory, expected, hint=f"Delete {directory} to have them downloaded again."
        )
        return [directory / name for name in expected]

    def _download(
        self,
        directory: Path,
        expected: dict[str, str],
        java: Java,
        ivy_settings: Path | None,
        report: _Progress,
    ) -> None:
        # Ivy's cache is kept after a failure, so that a second try continues, and removed when
        # the jars are there or when one of them is wrong.
        work = directory.with_name(f"{self.name}.download")
        arrived = work / "arrived"
        make_private_directory(arrived)
        ivy.retrieve(
            java,
            self.roots,
            into=arrived,
            ivy_home=work / "ivy",
            settings=ivy_settings,
            on_line=report.on_line,
            excluded=self.excluded,
            files_only=self.files_only,
        )
        try:
            if absent := verification.missing(arrived, expected):
                raise JavaError(
                    f"Ivy resolved the jars of {self.name} without {', '.join(absent)}",
                    hint="The repository holds other versions than the public one; "
                    "use one that mirrors Maven Central.",
                )
            verification.verify(
                arrived, expected, hint="The repository delivers a different file; do not use it."
            )
            make_private_directory(directory)
            for name in expected:
                (arrived / name).replace(directory / name)
        finally:
            shutil.rmtree(work)


class _Progress:
    """Turns Ivy's lines into progress: each jar is first found, then downloaded."""

    def __init__(self, jars: int, progress: Progress) -> None:
        self._total = 2 * jars
        self._done = 0
        self._progress = progress

    def on_line(self, line: str) -> None:
        match line.split():
            case ["found", module, *_]:  # found org.apache.kafka#kafka-clients;4.3.1 in public
                self._step(1, module.partition("#")[2].replace(";", " "))
            case ["downloading", address, *_]:
                self._step(0, address.rpartition("/")[2])
            case ["[SUCCESSFUL", "]", artifact, *_]:  # org.yaml#snakeyaml;2.5!snakeyaml.jar
                self._step(1, artifact.rpartition("!")[2])

    def _step(self, steps: int, what: str) -> None:
        self._done = min(self._done + steps, self._total)
        self._progress(self._done, self._total, what)


def _no_progress(done: int, total: int, what: str) -> None:
    pass
