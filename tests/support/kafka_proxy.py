"""A TCP proxy between a client and brokers that understands Kafka's frames.

    with KafkaProxy(broker.bootstrap_servers) as proxy:
        connection = Connection(bootstrap_servers=proxy.bootstrap_servers)
        with proxy.holding(PRODUCE, "request") as held:
            ...                      # a client sends a batch and waits
            held.wait_for(1)
        # at the end of the block it goes on, even if its client is gone by now

The addresses of the brokers are replaced in every answer, so that clients stay behind the proxy.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Literal

from lastword.testing import wait_until

PRODUCE = 0
METADATA = 3
INIT_PRODUCER_ID = 22
ADD_PARTITIONS_TO_TXN = 24
END_TXN = 26

Direction = Literal["request", "response"]
_HOST = "127.0.0.1"


class Held:
    """Frames that wait for a test; ``count`` says how many there have been."""

    def __init__(self) -> None:
        self.count = 0
        self._free = threading.Event()

    def stop(self) -> None:
        self.count += 1
        self._free.wait()

    def release(self) -> None:
        self._free.set()

    def wait_for(self, count: int) -> None:
        wait_until(lambda: self.count >= count, f"{count} frames are held")


class KafkaProxy:
    """Listens once for each broker. ``passed`` counts frames by (API key, direction)."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.passed: Counter[tuple[int, Direction]] = Counter()
        self._held: dict[tuple[int, Direction], Held] = {}
        self._cuts: Counter[tuple[int, Direction]] = Counter()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._ports: dict[int, int] = {}
        for address in bootstrap_servers.split(","):
            port = int(address.rpartition(":")[2])
            listener = socket.create_server((_HOST, 0))
            self._sockets.append(listener)
            self._ports[port] = listener.getsockname()[1]
            self._run(self._accept, listener, port)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{_HOST}:{port}" for port in self._ports.values())

    @contextmanager
    def holding(self, api_key: int, direction: Direction) -> Iterator[Held]:
        """Frames of this kind wait until ``release`` or the end of the block."""
        held = self._held[api_key, direction] = Held()
        try:
            yield held
        finally:
            del self._held[api_key, direction]
            held.release()

    def cut_next(self, api_key: int, direction: Direction, times: int = 1) -> None:
        """Break the connection instead of passing the next frames of this kind on."""
        with self._lock:
            self._cuts[api_key, direction] += times

    def __enter__(self) -> KafkaProxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        for held in list(self._held.values()):
            held.release()
        for each in list(self._sockets):
            _break(each)
        for thread in self._threads:
            thread.join(60)

    def _run(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, port: int) -> None:
        while not self._closed:
            try:
                client, _ = listener.accept()
                broker = socket.create_connection((_HOST, port))
            except OSError:
                continue
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets.append(each)
            asked: dict[int, int] = {}
            self._run(self._pump_requests, client, broker, asked)
            self._run(self._pump_responses, broker, client, asked)

    def _pump_requests(
        self, client: socket.socket, broker: socket.socket, asked: dict[int, int]
    ) -> None:
        for frame in _frames(client):
            api_key, _, correlation_id = struct.unpack_from(">hhi", frame)
            asked[correlation_id] = api_key
            if not self._pass(api_key, "request", frame, broker):
                break
        with suppress(OSError):
            broker.shutdown(socket.SHUT_WR)

    def _pump_responses(
        self, broker: socket.socket, client: socket.socket, asked: dict[int, int]
    ) -> None:
        for frame in _frames(broker):
            (correlation_id,) = struct.unpack_from(">i", frame)
            if not self._pass(asked.pop(correlation_id), "response", self._moved(frame), client):
                break
        _break(client)
        _break(broker)

    def _pass(
        self, api_key: int, direction: Direction, frame: bytes, onward: socket.socket
    ) -> bool:
        """Whether the connection goes on."""
        kind = api_key, direction
        if (held := self._held.get(kind)) is not None:
            held.stop()
        with self._lock:
            cut = self._cuts[kind] > 0
            self._cuts[kind] -= cut
        if cut:
            return False
        with suppress(
            OSError
        ):  # a client that is gone: what the broker says is counted all the same
            onward.sendall(struct.pack(">i", len(frame)) + frame)
        self.passed[kind] += 1
        return True

    def _moved(self, frame: bytes) -> bytes:
        """With the proxy's ports in place of the brokers'; host and port stand together."""
        for port, own in self._ports.items():
            theirs, ours = (_HOST.encode() + struct.pack(">i", each) for each in (port, own))
            frame = frame.replace(theirs, ours)
        return frame


def _frames(stream: socket.socket) -> Iterator[bytes]:
    """What comes after each length, until the other side is gone."""
    with suppress(OSError, struct.error, ValueError), stream.makefile("rb") as read:
        while True:
            (size,) = struct.unpack(">i", read.read(4))
            frame = read.read(size)
            if len(frame) < size:
                return
            yield frame


def _break(stream: socket.socket) -> None:
    with suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    stream.close()
