"""Builds the programs that are not Python, in C, Java and Go."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lastword.jvm import ivy, verification
from lastword.jvm.ivy import Coordinate
from lastword.jvm.java import find_java

BENCHMARKS = Path(__file__).parent.parent
BUILD = BENCHMARKS.parent / "build" / "benchmarks"
KAFKA_STREAMS = Coordinate("org.apache.kafka", "kafka-streams", "4.3.1")

_BUILD_TIMEOUT_S = 300


def c_program() -> Path:
    """Compile restore.c against the librdkafka that confluent_kafka itself loads."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("no C compiler: cc is not on PATH (Debian: apt install gcc libc6-dev)")
    library = _bundled_librdkafka()
    program = BUILD / "restore"
    BUILD.mkdir(parents=True, exist_ok=True)
    source = BENCHMARKS / "c" / "restore.c"
    flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", f"-Wl,-rpath,{library.parent}"]
    _build([compiler, *flags, "-o", str(program), str(source), str(library)])
    return program


def java_program(name: str) -> list[str]:
    """Compile a program of java/ against verified jars; the command that runs it."""
    java = find_java(os.environ)
    compiler = shutil.which("javac", path=str(java.executable.resolve().parent)) or shutil.which(
        "javac"
    )
    if compiler is None:
        raise SystemExit(
            f"{java.executable} has no javac beside it and there is none on PATH: Kafka Streams "
            "needs a JDK, not only a runtime (Debian: apt install openjdk-17-jdk-headless)"
        )
    class_path = os.pathsep.join(str(jar) for jar in _kafka_streams_jars())
    classes = BUILD / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    source = BENCHMARKS / "java" / f"{name}.java"
    _build([compiler, "-cp", class_path, "-d", str(classes), str(source)])
    return java.command("-cp", f"{classes}{os.pathsep}{class_path}", name)


def go_program() -> Path:
    """Compile the clients that write to etcd and over HTTP; downloads etcd's client once."""
    program = BUILD / "writes"
    BUILD.mkdir(parents=True, exist_ok=True)
    _build(["go", "build", "-C", str(BENCHMARKS / "go"), "-o", str(program), "."])
    return program


def _bundled_librdkafka() -> Path:
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise SystemExit("confluent_kafka is not installed")
    folder = Path(spec.origin).parent.with_name("confluent_kafka.libs")
    for library in sorted(folder.glob("librdkafka-*.so*")):
        return library
    raise SystemExit(
        f"confluent_kafka brings no librdkafka in {folder} (it does in the wheels for Linux)"
    )


def _kafka_streams_jars() -> list[Path]:
    checksums = BENCHMARKS / "java" / f"{KAFKA_STREAMS.name}-{KAFKA_STREAMS.revision}.sha256"
    expected = verification.read_checksums(checksums)
    directory = BUILD / "jars"
    if verification.missing(directory, expected):
        directory.mkdir(parents=True, exist_ok=True)
        print(f"downloading {KAFKA_STREAMS.name} {KAFKA_STREAMS.revision} and what it needs")
        ivy.retrieve(
            find_java(os.environ),
            [KAFKA_STREAMS],
            into=directory,
            ivy_home=BUILD / "ivy",
            settings=None,
            on_line=lambda _line: None,
        )
    verification.verify(directory, expected, hint=f"Delete {directory} to download them again.")
    return [directory / name for name in expected]


def _build(command: Sequence[str]) -> None:
    built = subprocess.run(
        command, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    if built.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{built.stdout}{built.stderr}")
