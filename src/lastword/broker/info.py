"""Where a running broker is found, by its starter and by every other process."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lastword.broker.ports import LOOPBACK
from lastword.broker.process import NodeProcess
from lastword.errors import BrokerError

_FILE = "broker.json"


class NodeInfo(msgspec.Struct, frozen=True):
    """One node: its directory and the ports it listens on, all on the loopback address.

    ``listeners`` maps a listener's name to its port; ``PLAINTEXT`` is always among them.
    """

    id: int
    directory: str
    listeners: dict[str, int]
    controller_port: int
    metrics_port: int

    @property
    def port(self) -> int:
        """The port of the plaintext listener."""
        return self.listeners["PLAINTEXT"]

    @property
    def data_dir(self) -> Path:
        """The directory of the partitions: Kafka's ``log.dirs``."""
        return Path(self.directory, "data")

    @property
    def log_file(self) -> Path:
        """What the broker has to say; older parts beside it as ``broker.log.1`` and so on."""
        return Path(self.directory, "broker.log")

    @property
    def process(self) -> NodeProcess:
        """The process of this node, whoever started it."""
        return NodeProcess(Path(self.directory))


class BrokerInfo(msgspec.Struct, frozen=True):
    """A broker or cluster of brokers on this machine."""

    cluster_id: str
    nodes: tuple[NodeInfo, ...]
    detached: bool

    @property
    def bootstrap_servers(self) -> str:
        """What a Kafka client needs to connect."""
        return self.addresses("PLAINTEXT")

    def addresses(self, listener: str) -> str:
        """The bootstrap servers for one of the listeners."""
        return ",".join(f"{LOOPBACK}:{node.listeners[listener]}" for node in self.nodes)

    def running_nodes(self) -> list[NodeInfo]:
        """The nodes whose process lives."""
        return [node for node in self.nodes if node.process.is_running()]


def write_info(directory: Path, info: BrokerInfo) -> None:
    """Leave word of a broker whose processes have been started."""
    new = directory / (_FILE + ".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(info), indent=2))
    new.replace(directory / _FILE)


def read_info(directory: Path) -> BrokerInfo | None:
    """The broker last started in ``directory``, running or not."""
    try:
        return msgspec.json.decode((directory / _FILE).read_bytes(), type=BrokerInfo)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise BrokerError(
            f"{directory / _FILE} cannot be read ({error})", hint="Delete it and start again."
        ) from error


def find_running(home: Path) -> BrokerInfo | None:
    """The broker of ``home`` that runs now, started by ``lastword broker start`` or ``up``."""
    info = read_info(home / "broker")
    return info if info is not None and info.running_nodes() else None
