"""The broker a benchmark runs on: one that is named, or an embedded one for this run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from arena.programs import BUILD
from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.home import default_home


@contextmanager
def cluster(bootstrap_servers: str | None, *, brokers: int = 1) -> Iterator[str]:
    """Addresses of brokers; embedded ones live below build/ and are gone afterwards."""
    if bootstrap_servers is not None:
        yield bootstrap_servers
        return
    directory = BUILD / "broker"
    shutil.rmtree(directory, ignore_errors=True)
    runtime = KafkaRuntime.prepare(default_home(), os.environ)
    try:
        with EmbeddedBroker(directory, runtime, brokers=brokers) as broker:
            yield broker.bootstrap_servers
    finally:
        shutil.rmtree(directory, ignore_errors=True)
