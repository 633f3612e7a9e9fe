"""``lastword up``: a broker and the tables of ``lastword.toml`` on this machine, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.info import find_running
from lastword.broker.runtime import KafkaRuntime
from lastword.cli.context import AppContext, with_cluster
from lastword.cli.progress import progress_bar
from lastword.cli.table_options import TableSpec, table_spec
from lastword.cli.watch import print_change
from lastword.errors import LastwordError, TopicNotFoundError, WatchLostError
from lastword.kafka.admin import Admin
from lastword.table.table import Table
from lastword.topics.creation import create_topic

DEMO_TABLE = "user-profiles"
_LOOK_S = 0.2


@click.command()
@with_cluster
@click.option("--port", type=click.IntRange(1, 65535), help="The broker's port.  [default: 9092]")
def up(app: AppContext, port: int | None) -> None:
    """Run everything in lastword.toml on this machine until Ctrl-C.

    Starts the local broker unless a cluster is named or one runs already, creates the topics of
    the tables that are missing, opens the tables and prints every change. Without tables in
    lastword.toml, there is one: user-profiles.
    """
    if port is not None:
        app.flags["broker.port"] = port
    stopping = threading.Event()
    with _signals_set(stopping), ExitStack() as running:
        _ensure_broker(app, running)
        names = list(app.settings.tables) or [DEMO_TABLE]
        specs = [table_spec(app, name) for name in names]
        _create_missing_topics(app, specs)
        watchers = [_Watcher(app, spec, stopping) for spec in specs]
        for watcher in watchers:
            running.callback(watcher.close)
            watcher.start()
        app.output.note(
            f"up at {app.connection.bootstrap_servers}; try: "
            f'lastword put {names[0]} user-1 \'{{"name": "Alice"}}\'. Ctrl-C stops it.'
        )
        while not stopping.wait(_LOOK_S):
            pass
        app.output.note("stopping")
    for watcher in watchers:
        watcher.raise_failure()


@contextmanager
def _signals_set(event: threading.Event) -> Iterator[None]:
    """Ctrl-C and a polite kill end the command in order, however far it has come."""

    def stop(number: int, frame: object) -> None:
        event.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ensure_broker(app: AppContext, running: ExitStack) -> None:
    """Start the local broker unless there is a cluster to use; it ends with this command."""
    connection = app.settings.section("connection")
    if connection["bootstrap_servers"] or connection["command_config"] or find_running(app.home):
        return
    given = app.settings.section("broker")
    ivy_settings = given["ivy_settings"]
    with progress_bar(app.output, "fetching the broker's jars") as report:
        runtime = KafkaRuntime.prepare(
            app.home,
            os.environ,
            ivy_settings=Path(str(ivy_settings)) if ivy_settings else None,
            progress=report,
        )
    app.output.note(f"starting a broker on port {given['port']}")
    running.enter_context(
        EmbeddedBroker(
            app.home / "broker",
            runtime,
            brokers=int(str(given["brokers"])),
            port=int(str(given["port"])),
            settings=app.settings.free.get("broker.properties", {}),
        )
    )


def _create_missing_topics(app: AppContext, specs: list[TableSpec]) -> None:
    with Admin(app.connection) as admin:
        for spec in specs:
            try:
                admin.describe(spec.topic)
            except TopicNotFoundError:
                # The demo is there to be watched, so it compacts while one is looking.
                profile = "aggressive" if spec.name == DEMO_TABLE else "default"
                create_topic(admin, spec.topic, profile=profile)
                app.output.note(f"created the topic {spec.topic}, profile {profile}")


class _Watcher:
    """One open table and the thread that prints its changes."""

    def __init__(self, app: AppContext, spec: TableSpec, stopping: threading.Event) -> None:
        self._app = app
        self._spec = spec
        self._stopping = stopping
        self._failure: LastwordError | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch-{spec.name}")
        self._table = Table(
            spec.topic,
            connection=app.connection,
            key=spec.key,
            value=spec.value,
            store=spec.store,
            name=spec.name,
            application_id=app.application_id,
            state_dir=app.state_dir,
            on_bad=spec.on_bad,
            allow_expiry=spec.allow_expiry,
        )

    def start(self) -> None:
        """Restore the table, then print in the background."""
        self._table.start()
        self._table.wait_ready()
        keys = len(self._table)
        self._app.output.line(
            f"{self._spec.name} is ready with {keys} keys",
            {"table": self._spec.name, "ready": True, "keys": keys},
        )
        self._thread.start()

    def close(self) -> None:
        """Stop printing and close the table."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._table.close()

    def raise_failure(self) -> None:
        """Raise what ended the thread, if something did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._print_until_lost()
        except LastwordError as error:
            self._failure = error
            self._stopping.set()

    def _print_until_lost(self) -> None:
        """A recreated topic or a lost place ends one watch; the table rebuilds, and so do we."""
        self._table.wait_ready()
        try:
            with self._table.watch() as changes:
                while not self._stopping.is_set():
                    change = changes.take(_LOOK_S)
                    if change is not None:
                        print_change(self._app, change)
        except WatchLostError as error:
            self._app.output.note(f"{self._spec.name}: {error}; watching again")
