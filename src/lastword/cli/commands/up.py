"""``lastword up``: broker, tables, service and pipelines of ``lastword.toml``, until Ctrl-C."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import cast

import click

from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cli.captures.capture_mirror import mirror_of
from lastword.cli.captures.capture_settings import captures_of_settings
from lastword.cli.captures.up_captures import start_captures
from lastword.cli.commands.data.watch import print_change
from lastword.cli.settings.demo import DEMO_MOUNTS, DEMO_PROFILE, PROFILES
from lastword.cli.settings.local_broker import local_broker, running_broker
from lastword.cli.settings.local_registry import local_registry
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.cataloging import entry_of_table, put_into_catalog, record_owners
from lastword.cli.support.opening import open_table
from lastword.cli.support.stop_signals import stop_signals
from lastword.cli.support.table_options import TableSpec, table_spec
from lastword.cli.support.up_pipelines import SparkRunner, pipelines_of
from lastword.cli.support.up_snapshots import snapshots_of
from lastword.codecs.registry import Registry
from lastword.codecs.registry.registry import IdPlace
from lastword.errors import DecodeError, LastwordError, TopicNotFoundError, WatchLostError
from lastword.kafka.admin import Admin
from lastword.metrics import Metrics
from lastword.pipelines import Pipeline
from lastword.table.table import Table
from lastword.table.watch import Watch
from lastword.topics.creation import create_topic
from lastword.topics.profiles import DEFAULT_PROFILE

_POLL_S = 0.2


@click.command()
@with_cluster
@click.option("--port", type=click.IntRange(1, 65535), help="The broker's port.  [default: 9092]")
@click.option("--registry", is_flag=True, help="Run a schema registry, too (159 MB, fetched once).")
def up(app: AppContext, port: int | None, registry: bool) -> None:
    """Run everything in lastword.toml on this machine until Ctrl-C.

    Starts the local broker unless a cluster is named or one runs already, creates the topics of
    the tables that are missing, opens the tables, prints every change, serves the tables and
    the dashboard over HTTP, and then starts Spark for the pipelines and for the snapshots of tables
    that have a snapshot_every.

    For the captures of lastword.toml it also starts Kafka Connect and the connectors, and keeps and
    serves their tables. Of these it prints batches, not every change.

    Without tables, captures and pipelines in lastword.toml, it is a demo: the table user-profiles,
    served at /users, and a pipeline that counts the updates of each user into a table at /updates.
    """
    if port is not None:
        app.flags["broker.port"] = port
    stopping = threading.Event()
    watchers: list[_Watcher] = []
    captures = captures_of_settings(app)
    pipelines = [*pipelines_of(app), *map(mirror_of, captures)]
    mounts = _mounts(app, pipelines)
    runner: SparkRunner | None = None
    with stop_signals() as signals, ExitStack() as running:
        try:
            _ensure_broker(app, running)
            if registry:
                _start_registry(app, running)
            monitors = start_captures(app, captures, running)
            created = _create_missing_topics(app, list(mounts), pipelines)
            # Not before: what the pipelines write, the catalog knows by now.
            specs = [table_spec(app, name, flags) for name, flags in mounts.items()]
            _put_into_catalog(app, [spec for spec in specs if spec.topic in created])
            runner = SparkRunner(app, pipelines, snapshots_of(app, specs))
            tables = [running.enter_context(_opened(app, spec)) for spec in specs]
            for spec, table in zip(specs, tables, strict=True):
                if spec.name in app.settings.captures:
                    continue  # its first copy would print every row of the database's table
                watchers.append(_Watcher(app, spec, table, stopping))
                running.callback(watchers[-1].stop)
                watchers[-1].start()
            metrics = [each.metrics for each in pipelines]
            record_owners(app, specs)
            _serve(app, specs, tables, running, metrics=metrics, captures=monitors)
            _say_what_to_try(app, specs)
            running.callback(runner.stop)
            runner.start()
            while not stopping.wait(_POLL_S):
                signals.check()
        except KeyboardInterrupt:
            app.output.info("stopping")
    for watcher in watchers:
        watcher.raise_failure()
    if runner is not None:
        runner.raise_failure()


def _say_what_to_try(app: AppContext, specs: Sequence[TableSpec]) -> None:
    """The first table is one that a person can write: a pipeline's own comes after it."""
    specs = [spec for spec in specs if spec.name not in app.settings.captures]
    text = f"up at {app.connection.bootstrap_servers}. Ctrl-C stops it."
    if specs:
        example = f'{_own_name()} put {specs[0].name} user-1 \'{{"name": "Alice"}}\''
        text += f" Try in another terminal:\n  {example}"
    app.output.info(text)


def _own_name() -> str:
    """The command as it can be typed: by its path, unless a shell finds it."""
    return "lastword" if shutil.which("lastword") else sys.argv[0]


def _ensure_broker(app: AppContext, running: ExitStack) -> None:
    """Start the local broker unless there is a cluster to use; it ends with this command."""
    connection = app.settings.section("connection")
    if connection["bootstrap_servers"] or connection["command_config"] or running_broker(app):
        return
    broker = local_broker(app, detached=False)
    app.output.info(f"starting Kafka at {broker.bootstrap_servers}")
    running.enter_context(broker)


def _start_registry(app: AppContext, running: ExitStack) -> None:
    """Start a registry that keeps its schemas in the cluster; it ends with this command."""
    registry = local_registry(app)
    app.output.info(f"starting a schema registry at {registry.url}")
    running.enter_context(registry)
    app.registry = Registry(registry.url, id_in=cast("IdPlace", app.settings["registry.id_in"]))
    text = f"schema registry; in other terminals: export LASTWORD_REGISTRY_URL={registry.url}"
    app.output.line(text, {"registry": registry.url})


def _mounts(app: AppContext, pipelines: Sequence[Pipeline]) -> dict[str, dict[str, str]]:
    """The tables of the settings, or those of the demo: what it computes only if it runs.

    With what goes over their settings: the mounts of the demo.
    """
    given = app.settings
    if given.tables or given.captures or given.free.get("pipelines"):
        return {name: {} for name in (*given.tables, *given.captures)}
    there = {PROFILES}.union(*(pipeline.topics for pipeline in pipelines))
    return {name: {"mount": mount} for name, mount in DEMO_MOUNTS.items() if name in there}


def _opened(app: AppContext, spec: TableSpec) -> AbstractContextManager[Table]:
    return open_table(app, spec, store=spec.store, writes=spec.writes, guest=False)


def _serve(
    app: AppContext,
    specs: list[TableSpec],
    tables: list[Table],
    running: ExitStack,
    *,
    metrics: Sequence[Metrics],
    captures: Sequence[CaptureMonitor],
) -> None:
    """Put the tables, which are open already, and the dashboard on the service's port."""
    # Loads Starlette and Granian, which few commands need.
    from lastword.cli.settings.service_settings import mounted, service_of, show_first_token

    mounts = [mounted(table, spec) for spec, table in zip(specs, tables, strict=True)]
    service = service_of(app, mounts, metrics, captures)
    show_first_token(app)
    running.enter_context(service)
    app.output.line(f"dashboard at {service.url}", {"url": service.url})


def _create_missing_topics(
    app: AppContext, tables: Sequence[str], pipelines: Sequence[Pipeline]
) -> set[str]:
    """Returns the topics that it made for tables.

    Pipelines come second: theirs have as many partitions as their sources.
    """
    theirs = frozenset[str]().union(*(pipeline.topics for pipeline in pipelines))
    created: set[str] = set()
    with Admin(app.connection) as admin:
        for name in tables:
            topic = str(app.settings.table(name)["topic"])
            if topic in theirs:
                continue
            try:
                admin.describe(topic)
            except TopicNotFoundError:
                profile = DEMO_PROFILE if name == PROFILES else DEFAULT_PROFILE
                create_topic(admin, topic, profile=profile)
                created.add(topic)
                app.output.info(f"created the topic {topic}, profile {profile}")
    for pipeline in pipelines:
        pipeline.create_topics(app.connection)
    return created


def _put_into_catalog(app: AppContext, specs: Sequence[TableSpec]) -> None:
    for spec in specs:
        put_into_catalog(app, spec.topic, entry_of_table(app, spec))


class _Watcher:
    """The thread that prints the changes of one table."""

    def __init__(
        self, app: AppContext, spec: TableSpec, table: Table, stopping: threading.Event
    ) -> None:
        self._app = app
        self._name = spec.name
        self._table = table
        self._stopping = stopping
        self._failure: LastwordError | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch-{spec.name}")

    def start(self) -> None:
        """Say that the table is ready, and print what changes from now on."""
        keys = len(self._table)
        self._app.output.line(
            f"{self._name} is ready with {keys} keys",
            {"table": self._name, "ready": True, "keys": keys},
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop printing."""
        self._stopping.set()
        self._thread.join()

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
        """A recreated topic or a lost position ends one watch; the table rebuilds, and so do we."""
        self._table.wait_ready()
        try:
            with self._table.watch() as changes:
                while not self._stopping.is_set():
                    self._print_next(changes)
        except WatchLostError as error:
            self._app.output.info(f"{self._name}: {error}; watching again")

    def _print_next(self, changes: Watch) -> None:
        """Show a record that cannot be decoded, and continue: any producer may write one."""
        try:
            change = changes.take(_POLL_S)
        except DecodeError as error:
            text = f"{self._name}  cannot be decoded: {error}"
            self._app.output.line(text, {"table": self._name, "error": str(error)})
        else:
            if change is not None:
                print_change(self._app, change, table=self._name)
