"""Where a worker of this machine is found, by its starter and by every other process."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lastword.errors import ConnectWorkerError
from lastword.home import HomeFolder
from lastword.jvm.child_process import ChildProcess, ServerKind
from lastword.jvm.ports import LOOPBACK
from lastword.private_files import make_private_directory, write_private

WORKER = ServerKind(
    "Connect worker", stop_command="lastword connect stop", error=ConnectWorkerError
)
LOG_FILE = "connect.log"
SECRETS = "secrets"
_FILE = "worker.json"


class WorkerInfo(msgspec.Struct, frozen=True):
    """A worker: its directory, its port of the loopback address, and its group of workers."""

    directory: str
    port: int
    group: str
    detached: bool

    @property
    def url(self) -> str:
        """Where its REST interface is."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def client_id(self) -> str:
        """How Kafka Connect calls this worker in its group."""
        return f"connect-{LOOPBACK}:{self.port}"

    @property
    def log_file(self) -> Path:
        """What the worker and its connectors have to say."""
        return Path(self.directory, LOG_FILE)

    @property
    def secrets(self) -> Path:
        """The one directory from which its connectors may read secrets."""
        return Path(self.directory, SECRETS)

    @property
    def process(self) -> ChildProcess:
        """Its process, whoever started it."""
        return ChildProcess(WORKER, Path(self.directory))


def write_worker(directory: Path, info: WorkerInfo) -> None:
    """Leave word of a worker that is about to be started in ``directory``."""
    make_private_directory(directory)
    write_private(directory / _FILE, msgspec.json.format(msgspec.json.encode(info), indent=2))


def read_worker(home: Path) -> WorkerInfo | None:
    """The worker last started in ``home``, running or not; None when there never was one."""
    path = home / HomeFolder.CONNECT / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=WorkerInfo)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise ConnectWorkerError(
            f"{path} cannot be read ({error})", hint="Delete it and start again."
        ) from error
