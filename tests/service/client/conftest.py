"""A table in this process, and a client of a service over another one: both start empty."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from lastword.client import AsyncTable, RemoteTable, connect, connect_async
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.service import Mount, Service, ServiceConfig, TokenFile
from lastword.table.table import Table
from lastword.topics.creation import create_topic

PARTITIONS = 3
# Everything that a table can hold, and how it is written.
KINDS: dict[str, dict[str, Any]] = {
    "owned": {"writes": "owned"},
    "calls": {"writes": "owned"},
    "direct": {},
    "numbers": {"key": "int64", "value": "int64", "writes": "conditional"},
    "blobs": {"key": "bytes", "value": "bytes"},
    "texts": {"key": "json", "value": "string"},
}


@dataclass
class Lab:
    """The same kinds of tables twice: opened here, and served."""

    here: dict[str, Table]
    served: dict[str, Table]
    url: str
    token: str

    def connect(self, kind: str, **options: Any) -> RemoteTable:
        return connect(f"{self.url}/tables/served-{kind}", token=self.token, **options)

    def connect_async(self, kind: str, **options: Any) -> AsyncTable:
        return connect_async(f"{self.url}/tables/served-{kind}", token=self.token, **options)


@pytest.fixture(scope="session")
def lab(
    connection: Connection, admin: Admin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("client") / f"client-{uuid.uuid4().hex[:8]}"
    directory.mkdir()
    with ExitStack() as running:

        def table(place: str, kind: str, options: dict[str, Any]) -> Table:
            name = f"{place}-{kind}"
            topic = f"{directory.name}-{name}"
            create_topic(admin, topic, partitions=PARTITIONS)
            return Table(
                topic,
                connection=connection,
                name=name,
                application_id=f"{directory.name}-{place}",
                state_dir=directory / name,
                **options,
            )

        here = {kind: table("here", kind, options) for kind, options in KINDS.items()}
        served = {kind: table("served", kind, options) for kind, options in KINDS.items()}
        tokens = TokenFile(directory / "tokens.json")
        token = tokens.create("test", {"*": "admin"})
        config = ServiceConfig(tokens_file=directory / "tokens.json", port=free_ports(1)[0])
        service = running.enter_context(Service(config, [Mount(each) for each in served.values()]))
        for each in here.values():
            running.enter_context(each)
        for each in served.values():
            each.wait_ready()
        yield Lab(here, served, service.url, token)
