"""What the tests of the service share: one running instance, its tokens, and clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.service import Limits, Mount, Service, ServiceConfig, TokenFile
from lastword.table.table import Table
from lastword.topics.creation import create_topic
from tests.support.served.service_process import ServiceProcess

HERE = Path(__file__).parent

# Every combination of codecs that is shown in its own way.
TABLES: dict[str, dict[str, str]] = {
    "users": {"mount": "/users"},
    "numbers": {"key": "int64", "value": "int64"},
    "blobs": {"key": "bytes", "value": "bytes", "mount": "/binary/blobs"},
    "documents": {"key": "json", "value": "msgpack"},
    "texts": {"value": "string", "store": "rocksdb"},
    "visits": {"window": "60000", "mount": "/visits"},
    "sessions": {"window": "session"},
}
# Of a database that nobody reaches.
CAPTURES = {
    "mirror": {"url": "postgresql://shop:sesame@127.0.0.1:1/shop", "table": "public.orders"},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.broker)


@pytest.fixture(scope="session")
def connection(broker: EmbeddedBroker) -> Connection:
    """How to reach the session's broker."""
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture(scope="session")
def admin(connection: Connection) -> Iterator[Admin]:
    """Questions to the session's broker."""
    with Admin(connection) as asking:
        yield asking


@pytest.fixture
def topic(admin: Admin, topic_name: str) -> str:
    """A compacted topic with three partitions."""
    create_topic(admin, topic_name, partitions=3)
    return topic_name


@pytest.fixture(scope="session")
def server(
    broker: EmbeddedBroker, admin: Admin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    """One instance for the whole run, with a table of each kind: use keys of your own."""
    tables = {}
    for name, settings in TABLES.items():
        topic = f"service-{name}"
        create_topic(admin, topic, partitions=3)
        tables[name] = {"topic": topic, **settings}
    directory = tmp_path_factory.mktemp("service")
    process = ServiceProcess(directory, broker.bootstrap_servers, tables, captures=CAPTURES)
    try:
        process.start()
        yield process
    finally:
        process.stop()


@dataclass(frozen=True)
class Tokens:
    """One of each kind."""

    admin: str
    write: str
    read: str
    users_only: str


@pytest.fixture(scope="session")
def tokens(server: ServiceProcess) -> Tokens:
    return Tokens(
        admin=server.token("test-admin", {"*": "admin"}),
        write=server.token("test-write", {"*": "write"}),
        read=server.token("test-read", {"*": "read"}),
        users_only=server.token("test-users", {"users": "write"}),
    )


@pytest.fixture(scope="session")
def http(server: ServiceProcess, tokens: Tokens) -> Iterator[httpx.Client]:
    """A client that may do everything."""
    with server.client(tokens.admin) as client:
        yield client


@pytest.fixture
def key(topic_name: str) -> str:
    """A key that no other test uses."""
    return topic_name


Serve = Callable[..., "Serving"]


@dataclass
class Serving:
    """A service in this process: with limits and tables that settings do not offer."""

    service: Service
    table: Table
    token: str
    config: ServiceConfig

    @property
    def url(self) -> str:
        return self.service.url

    def client(self, token: str | None = "", **options: Any) -> httpx.Client:
        """A client with every right; with None, one without a token."""
        given = self.token if token == "" else token
        headers = {} if given is None else {"Authorization": f"Bearer {given}"}
        options = {"timeout": 60.0, "trust_env": False} | options
        return httpx.Client(base_url=self.url, headers=headers, **options)


@pytest.fixture
def serve(connection: Connection, topic: str, tmp_path: Path) -> Iterator[Serve]:
    """Starts services of one table, named ``table`` and mounted at /table."""
    with ExitStack() as running:

        def start(
            *,
            limits: Limits | None = None,
            table_options: dict[str, Any] | None = None,
            mount_options: dict[str, Any] | None = None,
            wait: bool = True,
            **options: Any,
        ) -> Serving:
            port = free_ports(1)[0]
            tokens_file = tmp_path / f"tokens-{port}.json"
            token = TokenFile(tokens_file).create("test", {"*": "admin"})
            config = ServiceConfig(
                tokens_file=tokens_file, port=port, limits=limits or Limits(), **options
            )
            given: dict[str, Any] = {
                "connection": connection,
                "name": "table",
                "state_dir": tmp_path / f"state-{port}",
            }
            table = Table(topic, **(given | (table_options or {})))
            service = Service(config, [Mount(table, "/table", **(mount_options or {}))])
            running.enter_context(service)
            if wait:
                table.wait_ready()
            return Serving(service, table, token, config)

        yield start
