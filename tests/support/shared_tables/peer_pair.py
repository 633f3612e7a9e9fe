"""Peer endpoints of one application in this process, and what a stranger does to one."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from contextlib import ExitStack

from lastword.cluster.peers import PeerSettings
from lastword.cluster.peers.peer import Health, split_address
from lastword.cluster.peers.peers import Peers
from lastword.testing import wait_until

SECRET = "-".join(("known", "to", "tests", "only"))
APPLICATION = "shop"


class PeerPair(ExitStack):
    """Starts endpoints that know each other, and closes them after the test."""

    def __init__(self) -> None:
        super().__init__()
        self.health: dict[str, Mapping[str, Health]] = {}
        self.deaf: set[str] = set()

    def start(
        self,
        name: str,
        settings: PeerSettings | None = None,
        *,
        application: str = APPLICATION,
    ) -> Peers:
        def watch(_now: float, watched: Mapping[str, Health]) -> None:
            self.health[name] = watched

        chosen = settings or PeerSettings(secret=SECRET)
        peers = Peers(chosen, application, name, watch=watch, deaf=lambda: name in self.deaf)
        self.callback(peers.close)
        peers.start()
        return peers

    def connected(self, settings: PeerSettings | None = None) -> tuple[Peers, Peers]:
        """``a`` and ``b``; ``a`` may ask ``b``, which echoes."""
        a, b = self.start("a", settings), self.start("b", settings)
        b.handle("echo", lambda payload: payload)
        a.set_members({"a": a.address, "b": b.address}, frozenset())
        return a, b

    def wait_until_heard(self, watcher: str, watched: str) -> None:
        """Wait until the watcher is connected to the watched and gets its pings."""
        first = wait_until(lambda: self.health[watcher].get(watched), "a first look")
        wait_until(
            lambda: self.health[watcher][watched].heard_at > first.heard_at, "a sign of life"
        )


class Stranger:
    """A plain socket to an endpoint."""

    def __init__(self, address: str) -> None:
        self._socket = socket.create_connection(split_address(address), timeout=180)

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> None:
        self.send_raw(struct.pack(">I", len(frame)) + frame)

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes | None:
        """The next frame, or None when the endpoint has dropped the connection."""
        head = self._read(4)
        return None if head is None else self._read(struct.unpack(">I", head)[0])

    def is_cut_off(self) -> bool:
        """Read what there is until the end; fails the test if there is none within a minute."""
        while self.receive() is not None:
            continue
        return True

    def _read(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                more = self._socket.recv(count - len(data))
            except ConnectionResetError:
                return None
            if not more:
                return None
            data += more
        return data
