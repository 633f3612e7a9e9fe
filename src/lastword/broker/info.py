"""Where a broker of this machine is found, by its starter and by every other process."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lastword.broker import data_files
from lastword.broker.data_files import Segment
from lastword.broker.login import BrokerLogin, client_properties, read_login
from lastword.broker.metrics_agent import read_metrics_password
from lastword.broker.scrape import ScrapedSample, scrape
from lastword.errors import BrokerError
from lastword.home import HomeFolder
from lastword.jvm.child_process import ChildProcess, ServerKind
from lastword.jvm.ports import LOOPBACK
from lastword.private_files import make_private_directory, write_private

CLIENT_LISTENER = "PLAINTEXT"
"""Its name since the first version; what is spoken there depends on whether it is secure."""
BROKER = ServerKind("broker", stop_command="lastword broker stop", error=BrokerError)
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
        """The port for clients."""
        return self.listeners[CLIENT_LISTENER]

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port this node listens on."""
        return (*self.listeners.values(), self.controller_port, self.metrics_port)

    @property
    def data_dir(self) -> Path:
        """The directory of the partitions: Kafka's ``log.dirs``."""
        return Path(self.directory, "data")

    @property
    def log_file(self) -> Path:
        """The broker's log; older parts beside it as ``broker.log.1`` and so on."""
        return Path(self.directory, "broker.log")

    @property
    def process(self) -> ChildProcess:
        """The process of this node, even if another process started it."""
        return ChildProcess(BROKER, Path(self.directory))

    def metrics(self) -> list[ScrapedSample]:
        """This node's metrics, above all those of its log cleaner; see ``broker.metrics``."""
        return scrape(self.metrics_port, read_metrics_password(Path(self.directory)))

    def cleaner_checkpoint(self) -> dict[tuple[str, int], int]:
        """(topic, partition) to the first offset the log cleaner has not cleaned."""
        return data_files.cleaner_checkpoint(self.data_dir)

    def segments(self, topic: str, partition: int) -> list[Segment]:
        """The segment files this node has of a partition, in order."""
        return data_files.segments(self.data_dir, topic, partition)


class BrokerInfo(msgspec.Struct, frozen=True):
    """A broker, or a cluster of brokers, of this machine.

    detached   whether it stays when its starter ends secure whether clients need its login, which
    only the user who started it can read
    """

    cluster_id: str
    nodes: tuple[NodeInfo, ...]
    detached: bool
    secure: bool = False

    @property
    def bootstrap_servers(self) -> str:
        """What a Kafka client needs to connect."""
        return self.addresses(CLIENT_LISTENER)

    @property
    def client_properties(self) -> Path | None:
        """The file with the clients' login; None if they need none."""
        return client_properties(self._directory) if self.secure else None

    @property
    def login(self) -> BrokerLogin | None:
        """The login of clients; None if they need none."""
        return read_login(self._directory) if self.secure else None

    @property
    def _directory(self) -> Path:
        return Path(self.nodes[0].directory).parent

    def addresses(self, listener: str) -> str:
        """The bootstrap servers for one of the listeners."""
        return ",".join(f"{LOOPBACK}:{node.listeners[listener]}" for node in self.nodes)

    def running_nodes(self) -> list[NodeInfo]:
        """The nodes whose process lives."""
        return [node for node in self.nodes if node.process.is_running()]

    def stop(self, timeout: float = 30.0) -> None:
        """Stop every node in order, even if another process started it; data is kept."""
        processes = [node.process for node in self.nodes]
        for process in processes:
            process.ask_to_stop()
        for process in processes:
            process.wait_until_stopped(timeout)


def write_info(directory: Path, info: BrokerInfo) -> None:
    """Record a broker that is about to be started in ``directory``."""
    make_private_directory(directory)
    write_private(directory / _FILE, msgspec.json.format(msgspec.json.encode(info), indent=2))


def read_info(directory: Path) -> BrokerInfo | None:
    """The broker last started in ``directory``, running or not; None when there never was one."""
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
    info = read_info(home / HomeFolder.BROKER)
    return info if info is not None and info.running_nodes() else None
