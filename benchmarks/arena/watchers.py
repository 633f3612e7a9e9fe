"""Many watchers at once in one process, each of which must see every change.

python -m arena.watchers ADDRESS PATH WATCHERS CHANGES [--joined-together]

Says ``watching`` when all are connected, and at the end one line of JSON. Every watcher counts its
events. Those that joined before the first change must all have received the very same bytes, so
their checksums are compared.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
import zlib
from urllib.parse import urlsplit

_PUT = b"event: put\n"
_STARTED = b"\n\n"
_HEARTBEAT = b": still here\n\n"
_TIMEOUT_S = 300.0


class Watcher:
    """One connection. Chunked encoding is taken off, for its sizes differ between watchers."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self.socket = socket.create_connection((host, port), 30)
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.socket.sendall(request.encode())
        self.started = False
        self.changes = 0
        self.checksum = 0
        self._raw = b""
        self._left_in_chunk = 0
        self._event_part = b""

    def take(self) -> None:
        """What has arrived."""
        received = self.socket.recv(1 << 18)
        if not received:
            raise SystemExit("a watcher was cut off")
        self._raw += received
        if not self.started:
            head, found, rest = self._raw.partition(b"\r\n\r\n")
            if not found or _STARTED not in rest:
                return
            assert head.startswith(b"HTTP/1.1 200")  # noqa: S101
            self.started, self._raw = True, rest
            self._body()
            self.changes = self.checksum = 0
            self._event_part = b""
            return
        self._body()

    def _body(self) -> None:
        raw = self._raw
        place = 0
        while place < len(raw):
            if not self._left_in_chunk:
                end = raw.find(b"\r\n", place)
                if end < 0:
                    break
                self._left_in_chunk = int(raw[place:end], 16) + 2  # the line break after it
                place = end + 2
                continue
            part = raw[place : place + self._left_in_chunk]
            place += len(part)
            self._left_in_chunk -= len(part)
            self._take_in(part if self._left_in_chunk > 1 else part[: self._left_in_chunk - 2])
        self._raw = raw[place:]

    def _take_in(self, data: bytes) -> None:
        if data == _HEARTBEAT:
            return
        self.checksum = zlib.crc32(data, self.checksum)
        joined = self._event_part + data
        self.changes += joined.count(_PUT)
        self._event_part = joined[-len(_PUT) + 1 :] if not joined.endswith(_PUT) else b""


def main() -> None:
    address, path, count, changes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    parts = urlsplit(address)
    watchers = [Watcher(str(parts.hostname), int(parts.port or 80), path) for _ in range(count)]
    selector = selectors.DefaultSelector()
    for watcher in watchers:
        selector.register(watcher.socket, selectors.EVENT_READ, watcher)

    def take_until(done: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        waiting = {w for w in watchers if not _is(w, done, changes)}
        while waiting:
            if time.monotonic() > deadline:
                seen = sorted(watcher.changes for watcher in watchers)
                raise SystemExit(f"after {_TIMEOUT_S:.0f} s watchers saw {seen[0]} to {seen[-1]}")
            for key, _ in selector.select(1.0):
                key.data.take()
                if _is(key.data, done, changes):
                    waiting.discard(key.data)

    take_until("started")
    print("watching", flush=True)
    take_until("finished")
    checksums = {watcher.checksum for watcher in watchers}
    counts = {watcher.changes for watcher in watchers}
    if "--joined-together" in sys.argv and (counts != {changes} or len(checksums) != 1):
        raise SystemExit(f"watchers saw {counts} changes with {len(checksums)} checksums")
    print(json.dumps({"finished_at": time.time(), "changes": changes, "watchers": count}))


def _is(watcher: Watcher, done: str, changes: int) -> bool:
    return watcher.started if done == "started" else watcher.changes >= changes


if __name__ == "__main__":
    main()
