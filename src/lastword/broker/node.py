"""One node of the embedded broker: its files, its command line, its start and its end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lastword.broker import handshake, ports
from lastword.broker.info import NodeInfo
from lastword.broker.login import Login
from lastword.broker.metrics_agent import agent_option
from lastword.broker.process import NodeProcess
from lastword.broker.runtime import KafkaRuntime
from lastword.broker.settings import to_properties
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import BrokerError
from lastword.private_files import make_private_directory, write_private

_LOG4J = Path(__file__).with_name("log4j2.xml")
START_SECONDS = 180.0
"""How long a broker may take to answer: a busy machine is no error, and a dead process is noticed
at once."""
_FORMAT_SECONDS = 60.0
_ANSWER_SECONDS = 5.0
_POLL_SECONDS = 0.05
_LAST_WORDS = 8


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
        login: Login | None = None,
    ) -> None:
        self.info = info
        self._login = login
        self._runtime = runtime
        self._settings = settings
        self._detached = detached
        self._process = NodeProcess(Path(info.directory))
        self._console = Path(info.directory, "console.log")
        self._properties = Path(info.directory, "server.properties")
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """The id of the Java process, or None when it does not run."""
        return self._process.pid

    def format(self, cluster_id: str, scram_users: Mapping[str, str]) -> None:
        """Prepare an empty data directory for the cluster; one that has data is left as it is."""
        if (self.info.data_dir / "meta.properties").exists():
            return
        self._write_properties()
        arguments = ["format", "--cluster-id", cluster_id, "--config", str(self._properties)]
        for name, password in scram_users.items():
            arguments += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
        try:
            done = subprocess.run(  # noqa: S603 - Kafka's own tool
                self._java([], "kafka.tools.StorageTool", *arguments),
                capture_output=True,
                text=True,
                timeout=_FORMAT_SECONDS,
                check=False,
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise BrokerError(f"formatting {self.info.data_dir} does not end") from error
        if done.returncode != 0:
            raise BrokerError(
                f"{self.info.data_dir} could not be formatted:\n{done.stdout}{done.stderr}"
            )

    def require_free_ports(self) -> None:
        """PortTakenError when another program listens on one of this node's ports."""
        for port in self.info.ports:
            ports.require_free(port)

    def launch(self) -> None:
        """Start the process without waiting for it to answer."""
        self._write_properties()
        self._log_start = self.info.log_file.stat().st_size if self.info.log_file.exists() else 0
        directory = Path(self.info.directory)
        agent = agent_option(self._runtime.metrics_agent, directory, self.info.metrics_port)
        command = self._java([agent], "kafka.Kafka", str(self._properties))
        self._process.launch(command, self._console, detached=self._detached)

    def wait_until_ready(self, broker_ids: frozenset[int], timeout: float) -> None:
        """Return once this node says that ``broker_ids`` are all in the cluster."""
        deadline = SYSTEM_CLOCK.monotonic() + timeout
        while not self._sees(broker_ids):
            if not self._process.is_running():
                raise self._death()
            if SYSTEM_CLOCK.monotonic() > deadline:
                raise BrokerError(
                    f"broker {self.info.id} does not answer within {timeout:g} seconds",
                    hint=f"Its log is {self.info.log_file}",
                )
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def start(self, timeout: float = START_SECONDS) -> None:
        """Start the process and return once it answers and is a member of its cluster."""
        self.require_free_ports()
        self.launch()
        self.wait_until_ready(frozenset({self.info.id}), timeout)

    def ask_to_stop(self) -> None:
        """Ask for an orderly end without waiting for it; nothing when it does not run."""
        self._process.ask_to_stop()

    def wait_until_stopped(self, timeout: float = 30.0) -> None:
        """Wait for the end that was asked for; after ``timeout`` seconds the process is killed."""
        self._process.wait_until_stopped(timeout)

    def stop(self) -> None:
        """End the process in order; its data stays."""
        self.ask_to_stop()
        self.wait_until_stopped()

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL)."""
        self._process.kill()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open, nothing is answered."""
        self._process.pause()

    def resume(self) -> None:
        """Let a paused process go on."""
        self._process.send(signal.SIGCONT)

    def _java(self, options: list[str], main_class: str, *arguments: str) -> list[str]:
        return self._runtime.java.command(
            *options,
            "-Xmx512m",
            "-XX:+UseSerialGC",  # a small heap needs no parallel collector with its threads
            # Without the second compiler a start takes half the processor time, and so do the
            # first two million records: a local broker hardly ever lives to earn it back.
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j2.configurationFile={_LOG4J}",
            f"-Dlastword.log={self.info.log_file}",
            "-cp",
            self._runtime.class_path,
            main_class,
            *arguments,
        )

    def _write_properties(self) -> None:
        make_private_directory(self._properties.parent)
        write_private(self._properties, to_properties(self._settings).encode())

    def _sees(self, broker_ids: frozenset[int]) -> bool:
        try:
            view = handshake.ask(ports.LOOPBACK, self.info.port, _ANSWER_SECONDS, self._login)
        except OSError:
            return False  # not yet
        return view.broker_ids >= broker_ids

    def _death(self) -> BrokerError:
        self.require_free_ports()  # someone may have been faster
        said = self._console.read_text(encoding="utf-8", errors="replace").splitlines()
        if self.info.log_file.exists():
            log = self.info.log_file.read_bytes()[self._log_start :].decode(errors="replace")
            said += [line for line in log.splitlines() if " ERROR " in line or "Exception" in line]
        return BrokerError(
            f"broker {self.info.id} died while starting:\n" + "\n".join(said[-_LAST_WORDS:]),
            hint=f"Its log is {self.info.log_file}",
        )
