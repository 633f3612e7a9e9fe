"""The embedded broker: a real Kafka on this machine, one node or a cluster of several."""

from __future__ import annotations

import base64
import logging
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from lastword.broker.broker_node import START_SECONDS, BrokerNode
from lastword.broker.info import CLIENT_LISTENER, BrokerInfo, NodeInfo, write_info
from lastword.broker.login import client_properties, make_login, write_login
from lastword.broker.node_settings import check_settings, default_settings, node_settings
from lastword.broker.runtime import KafkaRuntime
from lastword.errors import BrokerError, LastwordError
from lastword.jvm import ports
from lastword.jvm.file_lock import locked
from lastword.kafka.admin.hanging_transactions import end_hanging_transactions
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog

log = logging.getLogger(__name__)


class EmbeddedBroker:
    """Kafka in KRaft mode as child processes, bound to the loopback address only.

    directory    keeps data, settings and logs; a broker started there again has its data and
                 its cluster id
    brokers      how many nodes; the data of a directory belongs to that many
    port         for clients, the next nodes have the next ports; picked when not given
    settings     any settings of a Kafka broker
    listeners    names of further listeners, with their security protocols
    scram_users  names and passwords to create while formatting (SCRAM-SHA-512)
    secure       whether clients need a login, made here, that only this user can read;
                 otherwise every user of this machine may do everything
    detached     whether it stays when this process ends; otherwise it ends with this process,
                 even when that is killed
    """

    def __init__(
        self,
        directory: Path,
        runtime: KafkaRuntime,
        *,
        brokers: int = 1,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        scram_users: Mapping[str, str] | None = None,
        secure: bool = False,
        detached: bool = False,
    ) -> None:
        check_settings(settings or {})
        self._directory = directory.absolute()
        self._scram_users = scram_users or {}
        names = [CLIENT_LISTENER, *(listeners or {})]
        infos = _plan(self._directory, brokers, port, names)
        self.info = BrokerInfo(_cluster_id(self._directory), infos, detached, secure)
        self._login = make_login(self._directory) if secure else None
        self.nodes = tuple(
            BrokerNode(
                info,
                runtime,
                default_settings(brokers)
                | dict(settings or {})
                | node_settings(info, infos, listeners or {}, self._login),
                detached=detached,
                login=self._login,
            )
            for info in infos
        )

    @property
    def bootstrap_servers(self) -> str:
        """What a Kafka client needs to connect."""
        return self.info.bootstrap_servers

    @property
    def connection(self) -> Connection:
        """How clients connect to it, with the login of a secure one."""
        if self._login is None:
            return Connection(bootstrap_servers=self.bootstrap_servers)
        return Connection.from_properties(client_properties(self._directory))

    def start(self, timeout: float = START_SECONDS) -> None:
        """Start every node and return once each sees all of them in the cluster.

        BrokerError if a broker already runs in this directory; that one keeps running.
        """
        try:
            with locked(self._directory / "start.lock", timeout):
                after_a_crash = any(node.was_killed for node in self.nodes)
                self._prepare()
                self._launch(timeout)
            if after_a_crash:
                self._end_hanging_transactions()
        except TimeoutError as error:
            raise BrokerError(
                f"another process is starting a broker in {self._directory}",
                hint="Wait for it, then check: lastword broker status",
            ) from error

    def stop(self, timeout: float = 30.0) -> None:
        """End the nodes in order; data stays. Nothing happens when none runs."""
        for node in self.nodes:
            node.ask_to_stop()
        for node in self.nodes:
            node.wait_until_stopped(timeout)

    def restart(self) -> None:
        """Stop in order and start again, on the same ports with the same data."""
        self.stop()
        self.start()

    def kill(self) -> None:
        """End the nodes as a crash would."""
        for node in self.nodes:
            node.kill()

    def pause(self) -> None:
        """Freeze the nodes: connections stay open, nothing is answered."""
        for node in self.nodes:
            node.pause()

    def resume(self) -> None:
        """Resume paused nodes."""
        for node in self.nodes:
            node.resume()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _prepare(self) -> None:
        for node in self.nodes:
            node.require_startable()
        _check_size(self._directory, len(self.nodes))
        # Another process may have formatted the directory since this object was made.
        self.info = replace(self.info, cluster_id=_cluster_id(self._directory))
        with ThreadPoolExecutor() as pool:
            for formatting in [
                pool.submit(node.format, self.info.cluster_id, self._scram_users)
                for node in self.nodes
            ]:
                formatting.result()

    def _launch(self, timeout: float) -> None:
        # Before the launch: a process that sees a node must find the ports and login of this run.
        if self._login is not None:
            write_login(self._directory, self._login, self.info.bootstrap_servers)
        write_info(self._directory, self.info)
        launched = []
        try:
            for node in self.nodes:
                node.launch()
                launched.append(node)
            everyone = frozenset(node.info.id for node in self.nodes)
            for node in self.nodes:
                node.wait_until_ready(everyone, timeout)
        except BaseException:
            for node in launched:
                node.kill()
            raise

    def _end_hanging_transactions(self) -> None:
        """Without an answer they stay, and are reported where they block a reader."""
        try:
            end_hanging_transactions(self.connection, KafkaLog(self.connection))
        except LastwordError as error:
            log.warning("hanging transactions were not looked for: %s", error)


def _plan(
    directory: Path, brokers: int, port: int | None, listeners: list[str]
) -> tuple[NodeInfo, ...]:
    given = () if port is None else range(port, port + brokers)
    free = iter(ports.free_ports(brokers * (len(listeners) + 2), besides=given))
    nodes = []
    for index in range(brokers):
        listening = {name: next(free) for name in listeners}
        if given:
            listening[CLIENT_LISTENER] = given[index]
        nodes.append(
            NodeInfo(
                id=index + 1,
                directory=str(directory / f"node-{index + 1}"),
                listeners=listening,
                controller_port=next(free),
                metrics_port=next(free),
            )
        )
    return tuple(nodes)


def _check_size(directory: Path, brokers: int) -> None:
    # The nodes of a cluster vote with each other; it cannot be continued with more or fewer.
    there = len(list(directory.glob("node-*/data/meta.properties")))
    if there not in (0, brokers):
        raise BrokerError(
            f"{directory} holds the data of {there} broker(s), not of {brokers}",
            hint=f"Start it with --brokers {there}, or delete {directory} to start over.",
        )


def _cluster_id(directory: Path) -> str:
    """The id the data was formatted with, or a new one in Kafka's own form."""
    for meta in sorted(directory.glob("node-*/data/meta.properties")):
        for line in meta.read_text(encoding="utf-8").splitlines():
            if line.startswith("cluster.id="):
                return line.removeprefix("cluster.id=")
    while True:
        new = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not new.startswith("-"):  # Kafka's tools would take it for an option
            return new
