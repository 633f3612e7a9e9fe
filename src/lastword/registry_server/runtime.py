"""What it takes to run a registry: a Java 21 and Apicurio's archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lastword.jvm.archive import unpacked
from lastword.jvm.ivy import Coordinate
from lastword.jvm.jar_set import JarSet, Progress
from lastword.jvm.java import Java, find_java

APICURIO = JarSet(
    "apicurio-registry-3.3.3",
    (
        Coordinate(
            "io.apicurio",
            "apicurio-registry-app",
            "3.3.3",
            transitive=False,
            classifier="all",
            extension="tar.gz",
        ),
    ),
)
OLDEST_JAVA = 21


@dataclass(frozen=True, slots=True)
class RegistryRuntime:
    """A Java and the unpacked registry; everything needed to start one, offline."""

    java: Java
    directory: Path

    @classmethod
    def prepare(
        cls,
        home: Path,
        environ: Mapping[str, str],
        *,
        ivy_settings: Path | None = None,
        progress: Progress | None = None,
    ) -> RegistryRuntime:
        """Bring the archive (159 MB) below ``home`` unless it is there already."""
        java = find_java(environ, oldest=OLDEST_JAVA)
        # Ivy takes the Java that the user chose, which may know the company's certificates.
        (archive,) = APICURIO.resolve(
            home, find_java(environ), ivy_settings=ivy_settings, progress=progress
        )
        return cls(java, unpacked(archive))
