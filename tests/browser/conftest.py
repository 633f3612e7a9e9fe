"""What the tests of the dashboard share: a real Chromium, and a real service over a real broker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from lastword.broker.embedded import EmbeddedBroker
from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.codecs.windowed import WindowedKey, windowed
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.service import Mount, Service, ServiceConfig, TokenFile
from lastword.table.table import Table
from lastword.topics.creation import create_topic

HERE = Path(__file__).parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
USERS = 130
MINUTE_MS = 60_000

expect.set_options(timeout=60_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_files.py":
            item.add_marker(pytest.mark.broker)


@pytest.fixture(scope="session")
def connection(broker: EmbeddedBroker) -> Connection:
    """How to reach the session's broker."""
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@dataclass(frozen=True)
class Dashboard:
    """A running service with its tables, and the rights to use it."""

    service: Service
    tokens: TokenFile
    tables: dict[str, Table]
    bootstrap_servers: str

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def users(self) -> Table:
        return self.tables["user-profiles"]

    def token(self, name: str, scope: Any = "write") -> str:
        return self.tokens.create(name, {"*": scope})

    def put_by_command_line(self, table: str, key: str, value: str) -> None:
        """As an operator would, in a separate process; returns when it is acknowledged."""
        command = [Path(sys.executable).with_name("lastword"), "put", table, key, value]
        environment = {
            "LASTWORD_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "PATH": os.environ["PATH"],
        }
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=180)


Serve = Callable[..., Dashboard]


@pytest.fixture(scope="session")
def serve(
    broker: EmbeddedBroker, connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serve]:
    """Starts services; ``local`` says whether they may look at the broker's own files."""
    with ExitStack() as running:

        def start(
            tables: list[Table],
            *,
            local: bool = True,
            captures: Sequence[CaptureMonitor] = (),
            **settings: Any,
        ) -> Dashboard:
            tokens = tmp_path_factory.mktemp("tokens") / "tokens.json"
            settings = {"port": free_ports(1)[0]} | settings
            config = ServiceConfig(tokens_file=tokens, **settings)
            nodes = broker.info.running_nodes() if local else ()
            mounts = [Mount(each, f"/{each.name}-at") for each in tables]
            service = Service(config, mounts, local_brokers=lambda _: nodes, captures=captures)
            running.enter_context(service)
            named = {each.name: each for each in tables}
            return Dashboard(service, TokenFile(tokens), named, broker.bootstrap_servers)

        yield start


@pytest.fixture(scope="session")
def dashboard(
    serve: Serve, connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Dashboard:
    """One service for all tests, with three tables: use keys of your own."""
    state_dir = tmp_path_factory.mktemp("state")
    kinds: dict[str, dict[str, Any]] = {
        "user-profiles": {"store": "rocksdb"},
        "service-config": {"value": "string"},
        "page-visits": {"key": windowed("string", MINUTE_MS), "value": "int64"},
    }
    with Admin(connection) as admin:
        for topic in kinds:
            create_topic(admin, topic, partitions=3)
    options: dict[str, Any] = {"connection": connection, "state_dir": state_dir}
    tables = [Table(topic, **options, **kind) for topic, kind in kinds.items()]
    started = serve(tables)
    for table in tables:
        table.wait_ready()
    users, config, visits = tables
    users.put_many(
        (f"eu:user-{i:03d}", {"name": f"User {i}", "plan": "pro" if i % 2 else "free"})
        for i in range(USERS)
    )
    users.put("eu:user-000", {"name": "User 0", "plan": "team"})
    config.put("checkout.timeout", "2500ms")
    for minute in range(3):
        visits.put(WindowedKey("home", minute * MINUTE_MS), 100 + minute)
    return started


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, or any other that is installed."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.fail(f"none of {', '.join(CHROMIUM)} is installed: run scripts/ensure-chromium.sh")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        yield browser
        browser.close()


class Visitor:
    """Opens pages, and holds every one of them to silence: no error, nothing from elsewhere."""

    def __init__(self, chromium: Browser, dashboard: Dashboard) -> None:
        self._chromium = chromium
        self._dashboard = dashboard
        self._contexts: list[BrowserContext] = []
        self.forgiven: tuple[str, ...] = ()
        self.errors: list[str] = []
        self.outside: list[str] = []

    def __call__(
        self,
        path: str = "#/",
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        token: str | None = None,
        url: str | None = None,
    ) -> Page:
        base = url or self._dashboard.url
        context = self._chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self._heard("error", str(error)))
        page.on("request", lambda request: self._asked(request, base))
        if token is not None:
            page.add_init_script(f"sessionStorage.setItem('lastword-token', '{token}')")
        page.goto(f"{base}/{path}")
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in self.forgiven):
            self.errors.append(text)

    def _asked(self, request: Request, base: str) -> None:
        if not request.url.startswith(f"{base}/"):
            self.outside.append(request.url)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def visit(chromium: Browser, dashboard: Dashboard) -> Iterator[Visitor]:
    """``visit("#/tables/user-profiles")`` opens a page that must stay without errors."""
    visitor = Visitor(chromium, dashboard)
    yield visitor
    visitor.close()
    assert not visitor.errors, "the page complained"
    assert not visitor.outside, "the page asked somebody else"
