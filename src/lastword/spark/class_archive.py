"""Spark's classes in an archive that Java maps into memory instead of reading 300 jars.

Measured: a session starts in a third to two thirds of the time. Java checks the archive against its
version and class path, and ignores it if either differs.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import JavaError
from lastword.home import HomeFolder
from lastword.jvm.jar_set import Progress
from lastword.jvm.java import Java
from lastword.private_files import make_private_directory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_WRITING_S = 1_800.0  # seconds on an idle machine; minutes have been seen on a busy one
_POLL_S = 1.0
# It only logs that an archive does not match, which is harmless.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive for one Java, one PySpark and one class path, below ``directory``.

    It extends Java's own class archive, which a Java from a wheel lacks: then that one is made
    first, as ``base``.
    """

    java: Java
    path: Path
    base: Path | None

    @classmethod
    def of(cls, home: Path, java: Java, jars: Iterable[Path]) -> ClassArchive:
        """Where it is, once it was made."""
        directory = home / HomeFolder.SPARK_CLASSES
        executable = java.executable.resolve()
        parts = [str(executable), str(java.release)]
        base = directory / f"java-{_digest(parts)}.jsa"
        parts += [pyspark.__version__, str(Path(pyspark.__file__).parent), *map(str, jars)]
        has_own = (executable.parent.parent / "lib" / "server" / "classes.jsa").exists()
        return cls(java, directory / f"spark-{_digest(parts)}.jsa", None if has_own else base)

    def options(self) -> Sequence[str]:
        """The options of a Java that uses it; none before it was made."""
        if not self.path.exists():
            return ()
        files = [str(each) for each in (self.base, self.path) if each is not None]
        return (f"-XX:SharedArchiveFile={os.pathsep.join(files)}", "-Xshare:auto", *_QUIET)

    def options_to_make(self, made: Path) -> Sequence[str]:
        """The options of a Java that writes ``made`` at its end, with all classes it loaded."""
        base = () if self.base is None else (f"-XX:SharedArchiveFile={self.base}",)
        return (*base, f"-XX:ArchiveClassesAtExit={made}", *_QUIET)

    def make_base(self, progress: Progress | None = None) -> None:
        """Make sure that its base exists; raises JavaError if that takes too long."""
        make_private_directory(self.path.parent)
        if self.base is None or self.base.exists():
            return
        made = self.base.with_name(f"{self.base.name}.{os.getpid()}")
        command = self.java.command("-Xshare:dump", f"-XX:SharedArchiveFile={made}")
        quiet = subprocess.DEVNULL
        java = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)  # noqa: S603
        _wait_for(java, made, progress)
        _put_in_place(made, self.base)

    def put_in_place(self, made: Path) -> bool:
        """Give a whole archive its name; False when this Java could not write one."""
        return _put_in_place(made, self.path)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _put_in_place(made: Path, archive: Path) -> bool:
    if not made.exists():
        log.info("this Java wrote no %s; Spark starts without", archive)
        return False
    made.replace(archive)
    return True


def load_classes(spark: SparkSession) -> None:
    """Make Spark load the classes of a pipeline: a job, a streaming query, the Kafka source."""
    spark.range(10).mapInArrow(_as_it_is, "id long").collect()

    def batch(rows: DataFrame, batch_id: int) -> None:
        rows.select("value").mapInArrow(_as_it_is, "value long").collect()

    with tempfile.TemporaryDirectory(prefix="lastword-") as checkpoint:
        ticks = spark.readStream.format("rate").load().writeStream.foreachBatch(batch)
        ticks = ticks.trigger(availableNow=True).option("checkpointLocation", checkpoint)
        ticks.start().awaitTermination()
    # Nobody is asked for records: the schema is known without.
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:9", "subscribe": "nothing"}
    assert spark.read.format("kafka").options(**nowhere).load().columns  # noqa: S101 - loads it


def end_java(spark: SparkSession, made: Path, progress: Progress | None = None) -> None:
    """Stop the session and wait until its Java, which writes ``made`` at its end, is gone.

    Raises JavaError when that takes too long.
    """
    context: Any = type(spark.sparkContext)
    gateway = context._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    # PySpark would continue to use the Java process that has ended.
    context._gateway = context._jvm = None
    _wait_for(gateway.proc, made, progress)


def _wait_for(java: subprocess.Popen[Any], made: Path, progress: Progress | None) -> None:
    """Wait for a Java that writes an archive; kill it if that takes too long."""
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
        hint="try again when the machine is less busy: lastword pipeline prepare; pipelines run "
        "without it, they only take longer to start",
    )


def _as_it_is(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches
