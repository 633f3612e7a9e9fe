"""A Spark standalone cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from lastword.jvm import ports
from lastword.testing.waiting import wait_until

SPARK_HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
_START_S = 240.0
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_STOP_S = 30.0


class SparkCluster:
    """One core and one directory for each worker; ``close`` ends every process."""

    def __init__(self, directory: Path, java_home: Path, workers: int) -> None:
        port, *worker_ports = ports.free_ports(1 + workers)
        self.master = f"spark://{HOST}:{port}"
        self.directory = directory
        self._environ = {
            **os.environ,
            "JAVA_HOME": str(java_home),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_CONF_DIR": str(self._configured()),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK_JAVA} -Dspark.master.rest.enabled=false",
            "PYSPARK_PYTHON": sys.executable,
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", ["--host", HOST, "--port", str(port), "--webui-port", "0"])
        for number, worker_port in enumerate(worker_ports):
            self._start_worker(number, worker_port)

    def _configured(self) -> Path:
        """As the guide says: nobody gets in without the secret, and nobody listens in."""
        directory = self.directory / "conf"
        directory.mkdir()
        settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secrets.token_hex(16),
            "spark.network.crypto.enabled": "true",
        }
        lines = [f"{name} {value}\n" for name, value in settings.items()]
        (directory / "spark-defaults.conf").write_text("".join(lines))
        return directory

    def wait_for_workers(self, count: int) -> None:
        """Until so many can be given work."""
        wait_until(
            lambda: self._log("master").count("Registering worker") == count,
            what="the workers to register",
            timeout=_START_S,
        )

    def submit(
        self, script: Path, jars: Sequence[Path], *arguments: str, settings: Mapping[str, str]
    ) -> subprocess.Popen[str]:
        """``spark-submit`` as a user types it."""
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master]
        command += ["--jars", ",".join(str(jar) for jar in jars)]
        command += ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=512m"]
        command += ["--conf", f"spark.executor.extraJavaOptions={_QUICK_JAVA}"]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        command += [str(script), *arguments]
        with self._file("driver").open("wb") as log:
            return subprocess.Popen(
                command, env=self._environ, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def kill_worker(self, number: int) -> None:
        """As if its machine were gone: worker, executors and their Python, all at once."""
        for process in self._processes_of(number):
            os.kill(process, signal.SIGKILL)

    def kill_executor(self, number: int) -> None:
        """The Java of a worker's executor, and nothing else; the worker starts another one."""
        running = [
            process
            for process in self._processes_of(number)
            if b"CoarseGrainedExecutorBackend" in _arguments_of(process)
        ]
        assert running, f"worker {number} has no executor"
        for process in running:  # one of an earlier application may be about to end
            os.kill(process, signal.SIGKILL)

    def executors_of(self, number: int) -> list[Path]:
        """The working directories of the executors that ran on a worker."""
        return sorted((self.directory / f"worker-{number}").glob("app-*/*"))

    def close(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(_STOP_S)

    def _processes_of(self, number: int) -> list[int]:
        mark = str(self.directory / f"worker-{number}").encode()
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _mentions(path, mark)]

    def _start_worker(self, number: int, port: int) -> None:
        # An address each: a second attempt at a task is made on another host, or not at all.
        host = f"127.0.0.{2 + number}"
        where = ["--host", host, "--port", str(port), "--webui-port", "0"]
        where += ["--cores", "1", "--memory", "1g"]
        where += ["--work-dir", str(self.directory / f"worker-{number}")]
        self._start("worker.Worker", [*where, self.master], name=f"worker-{number}", host=host)

    def _start(
        self, program: str, arguments: Sequence[str], *, name: str = "master", host: str = HOST
    ) -> None:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}"]
        with self._file(name).open("wb") as log:
            process = subprocess.Popen(
                [*command, *arguments],
                env={**self._environ, "SPARK_LOCAL_IP": host},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)

    def _file(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def _log(self, name: str) -> str:
        return self._file(name).read_text()


def _mentions(process: Path, mark: bytes) -> bool:
    """Whether its command line or its working directory does."""
    try:
        where = os.fsencode((process / "cwd").readlink())
        return mark in (process / "cmdline").read_bytes() or mark in where
    except OSError:
        return False  # ended meanwhile, or not ours


def _arguments_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""  # ended meanwhile
