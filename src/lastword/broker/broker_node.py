"""One node of the embedded broker: its files, its command line, its start and its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from lastword.broker import cluster_probe
from lastword.broker.info import BROKER, NodeInfo
from lastword.broker.login import BrokerLogin
from lastword.broker.metrics_agent import agent_option
from lastword.broker.node_settings import to_properties
from lastword.broker.runtime import KafkaRuntime
from lastword.errors import BrokerError
from lastword.jvm.java_server import SMALL_SERVER, JavaProgram, JavaServer, log_options
from lastword.jvm.ports import LOOPBACK
from lastword.private_files import make_private_directory, write_private

START_SECONDS = 180.0
"""How long a broker may take to answer: a busy machine needs time, and a dead process is noticed at
once."""
_FORMAT_SECONDS = 60.0
_ANSWER_SECONDS = 5.0
_CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


class BrokerNode:
    """A Kafka process of this machine that is broker and controller in one.

    A node that was stopped or killed can be started again, with its data and on its ports.
    """

    def __init__(
        self,
        info: NodeInfo,
        runtime: KafkaRuntime,
        settings: Mapping[str, str],
        *,
        detached: bool,
        login: BrokerLogin | None = None,
    ) -> None:
        self.info = info
        self._login = login
        self._runtime = runtime
        self._settings = settings
        self._directory = Path(info.directory)
        self._properties = self._directory / "server.properties"
        self._server = JavaServer(
            BROKER,
            self._directory,
            ports=info.ports,
            log_file=info.log_file,
            name=f"broker {info.id}",
            detached=detached,
        )

    @property
    def pid(self) -> int | None:
        """The id of the Java process, or None when it does not run."""
        return self._server.pid

    @property
    def was_killed(self) -> bool:
        """Whether its last process did not end in order; Kafka leaves a file when it does."""
        data = self.info.data_dir
        return (data / "meta.properties").exists() and not (data / _CLEAN_SHUTDOWN).exists()

    def format(self, cluster_id: str, scram_users: Mapping[str, str]) -> None:
        """Format an empty data directory for the cluster; one with data stays as it is."""
        if (self.info.data_dir / "meta.properties").exists():
            return
        self._write_properties()
        arguments = ["format", "--cluster-id", cluster_id, "--config", str(self._properties)]
        for name, password in scram_users.items():
            arguments += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
        try:
            done = subprocess.run(  # noqa: S603 - Kafka's own tool
                self._program("kafka.tools.StorageTool", *arguments).command(),
                capture_output=True,
                text=True,
                timeout=_FORMAT_SECONDS,
                check=False,
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise BrokerError(f"formatting {self.info.data_dir} did not finish in time") from error
        if done.returncode != 0:
            raise BrokerError(
                f"{self.info.data_dir} could not be formatted:\n{done.stdout}{done.stderr}"
            )

    def require_startable(self) -> None:
        """An error that names the process which runs here already, or has one of the ports."""
        self._server.require_startable()

    def launch(self) -> None:
        """Start the process without waiting for it to answer."""
        self._server.launch(self._broker_program())

    def wait_until_ready(self, broker_ids: frozenset[int], timeout: float) -> None:
        """Return once this node says that ``broker_ids`` are all in the cluster."""
        self._server.wait_until_ready(lambda: self._sees(broker_ids), timeout)

    def start(self, timeout: float = START_SECONDS) -> None:
        """Start the process and return once it answers and is a member of its cluster."""
        self.require_startable()  # before the files of a running one are overwritten
        alone = frozenset({self.info.id})
        self._server.start(self._broker_program(), lambda: self._sees(alone), timeout)

    def ask_to_stop(self) -> None:
        """Ask for an orderly end without waiting for it; nothing when it does not run."""
        self._server.ask_to_stop()

    def wait_until_stopped(self, timeout: float = 30.0) -> None:
        """Wait for the process to end; after ``timeout`` seconds it is killed."""
        self._server.wait_until_stopped(timeout)

    def stop(self) -> None:
        """End the process in order; its data stays."""
        self._server.stop()

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL)."""
        self._server.kill()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open, nothing is answered."""
        self._server.pause()

    def resume(self) -> None:
        """Resume a paused process."""
        self._server.resume()

    def _broker_program(self) -> JavaProgram:
        self._write_properties()
        agent, options = self._runtime.metrics_agent, []
        if agent is not None:  # each start has a password of its own
            options.append(agent_option(agent, self._directory, self.info.metrics_port))
        return self._program("kafka.Kafka", str(self._properties), options=tuple(options))

    def _program(
        self, main_class: str, *arguments: str, options: tuple[str, ...] = ()
    ) -> JavaProgram:
        return JavaProgram(
            self._runtime.java,
            main_class,
            class_path=self._runtime.class_path,
            options=(
                *options,
                *self._runtime.class_options,
                *SMALL_SERVER,
                *log_options(self.info.log_file),
            ),
            arguments=arguments,
        )

    def _write_properties(self) -> None:
        make_private_directory(self._directory)
        write_private(self._properties, to_properties(self._settings).encode())

    def _sees(self, broker_ids: frozenset[int]) -> bool:
        try:
            view = cluster_probe.ask(LOOPBACK, self.info.port, _ANSWER_SECONDS, self._login)
        except OSError:
            return False  # not yet
        return view.broker_ids >= broker_ids
