"""A worker of Kafka Connect that runs as a process of this machine, on the loopback address."""

from __future__ import annotations

from pathlib import Path

from lastword.broker.node_settings import to_properties
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.runtime import ConnectRuntime
from lastword.connect_worker.task_transactions import abort_task_transactions
from lastword.connect_worker.worker_info import LOG_FILE, SECRETS, WORKER, WorkerInfo, write_worker
from lastword.connect_worker.worker_settings import worker_settings
from lastword.errors import ConnectWorkerError
from lastword.jvm.embedded_server import EmbeddedServer
from lastword.jvm.java_server import SMALL_SERVER, JavaProgram, JavaServer, log_options
from lastword.jvm.ports import free_ports
from lastword.kafka.connection import Connection
from lastword.private_files import make_private_directory, write_private

START_SECONDS = 300.0
"""How long it may take to answer: a busy machine is no error, a dead process is noticed at once."""
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_ANSWER_SECONDS = 5.0


class EmbeddedWorker(EmbeddedServer):
    """One worker in distributed mode with exactly-once support for sources.

    Connectors, their offsets and their state are in topics of the cluster of ``connection``: a
    worker that is started again, here or in another directory, goes on with them. Its address is
    the loopback one. Whoever can use this machine can use its REST interface.

    directory   keeps its settings, its log and the secrets of its connectors
    group       workers of one group share their connectors and topics
    detached    whether it stays when this process ends
    """

    def __init__(
        self,
        directory: Path,
        runtime: ConnectRuntime,
        connection: Connection,
        *,
        port: int | None = None,
        group: str = "lastword-connect",
        detached: bool = False,
    ) -> None:
        self._directory = directory.absolute()
        self._runtime = runtime
        self._connection = connection
        self.info = WorkerInfo(
            str(self._directory), port or free_ports(1)[0], group, detached=detached
        )
        self._settings = worker_settings(self.info, connection, runtime.plugins)
        super().__init__(
            JavaServer(
                WORKER,
                self._directory,
                ports=(self.info.port,),
                log_file=self._directory / LOG_FILE,
                detached=detached,
            )
        )

    @property
    def url(self) -> str:
        """Where its REST interface is."""
        return self.info.url

    @property
    def client(self) -> ConnectClient:
        """Asks it for its connectors."""
        return ConnectClient(self.url)

    def start(self) -> None:
        """Start it, and return once it has joined its group and takes requests."""
        self._server.require_startable()  # before the files of a running one are overwritten
        make_private_directory(self._directory)
        make_private_directory(self._directory / SECRETS)
        properties = self._directory / "worker.properties"
        write_private(properties, to_properties(self._settings).encode())
        write_worker(self._directory, self.info)
        abort_task_transactions(self._connection, self.info)
        program = JavaProgram(
            self._runtime.java,
            _MAIN,
            class_path=self._runtime.class_path,
            options=(
                *self._runtime.class_options,
                *SMALL_SERVER,
                *log_options(self._directory / LOG_FILE),
            ),
            arguments=(str(properties),),
        )
        self._server.start(program, self._is_ready, START_SECONDS)

    def _is_ready(self) -> bool:
        try:
            return ConnectClient(self.url, timeout=_ANSWER_SECONDS).is_healthy()
        except ConnectWorkerError:
            return False  # not yet
