"""An owner in a separate process that appends without a pause, to be stopped by a test.

Started with ``python -m tests.support.shared_tables.fenced_writer SERVERS TOPIC WAY``. It says on
one line each what it was acknowledged, and at last the error that ended it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from functools import partial
from typing import IO

from lastword.errors import WriteError
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FencedLog, FenceNote
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.kafka.write.fenced.transactional_log import TransactionalLog
from lastword.records import Write
from lastword.testing import wait_until
from tests.support.child_process import ROOT

WAYS = {"plain": IdempotentLog, "transactions": partial(TransactionalLog, batch_bytes=100_000)}


def fenced_log(connection: Connection, topic: str, way: str) -> FencedLog:
    """A log of partition 0, in one of the ways."""
    return WAYS[way](connection, topic, 0, f"tests:owner:{topic}:0")


class FencedWriter:
    """The parent's side. ``acknowledged`` are (value, offset); ``ending`` is the error's name."""

    def __init__(self, connection: Connection, topic: str, way: str) -> None:
        command = [sys.executable, "-m", "tests.support.shared_tables.fenced_writer"]
        command += [connection.bootstrap_servers, topic, way]
        self.acknowledged: list[tuple[str, int]] = []
        self.ending = ""
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reading.start()

    def wait_for(self, count: int) -> None:
        """Until so many batches were acknowledged."""
        wait_until(lambda: len(self.acknowledged) >= count, f"{count} batches", every=0.001)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def wait_for_its_end(self) -> None:
        self._process.wait(180)
        self._reading.join(180)

    def kill(self) -> None:
        self._process.kill()
        self.wait_for_its_end()

    def _read(self, output: IO[str]) -> None:
        with output:
            for line in output:
                what, _, offset = line.strip().partition(" ")
                if offset:
                    self.acknowledged.append((what, int(offset)))
                else:
                    self.ending = what


def main(servers: str, topic: str, way: str) -> None:
    log = fenced_log(Connection(bootstrap_servers=servers), topic, way)
    fence = log.take_over(FenceNote("child", 1))
    n = 0
    while True:
        n += 1
        value = f"{fence.offset}-{n}"
        try:
            (offset,) = log.append([Write(b"key", value.encode())])
        except WriteError as error:
            print(type(error).__name__, flush=True)  # noqa: T201
            return
        print(value, offset, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
