"""``lastword connect``: start, stop and inspect the local worker of Kafka Connect."""

from __future__ import annotations

import sys

import click

from lastword.cli.settings.local_connect import connect_client, connect_runtime, local_worker
from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.failure import UNREACHABLE_OR_TIMEOUT
from lastword.cli.support.log_lines import LINES_SHOWN, print_lines
from lastword.cli.support.output import printable
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.worker_info import WorkerInfo, read_worker
from lastword.errors import ConnectWorkerError


@click.group()
def connect() -> None:
    """Start, stop and inspect the local Kafka Connect worker.

    It runs the connectors that capture the changes of databases. Its REST interface is
    reachable from this machine only, for every user of this machine. Connectors, their
    offsets and their state are in the cluster; its settings, its log and the passwords that its
    connectors use are below LASTWORD_HOME/connect.
    """


@connect.command()
@with_app
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The port of its REST interface.  [default: 8083]"
)
def start(app: AppContext, port: int | None) -> None:
    """Start the local worker and leave it running.

    Returns once it takes requests. The first start fetches its jars and Debezium's plug-in for
    PostgreSQL (16 MB, beside the broker's); later ones need no network.
    """
    if port is not None:
        app.flags["connect.port"] = port
    running = read_worker(app.home)
    if running is None or not running.process.is_running():
        worker = local_worker(app, detached=True)
        app.output.info(f"starting Kafka Connect at {worker.url}")
        worker.start()
        running = worker.info
    elif port not in (None, running.port):
        raise ConnectWorkerError(
            f"a worker runs at {running.url} already",
            hint="to restart it on another port, stop it first: lastword connect stop",
        )
    _show(app, running)


@connect.command()
@with_app
def fetch(app: AppContext) -> None:
    """Fetch the worker's jars and Debezium's plug-in, to start without a network later."""
    runtime = connect_runtime(app)
    app.output.line(
        f"ready: Java {runtime.java.release} from {runtime.java.source}, "
        f"plug-ins in {runtime.plugins}",
        {"java": str(runtime.java.executable), "plugins": str(runtime.plugins)},
    )


@connect.command()
@with_app
def stop(app: AppContext) -> None:
    """Stop the local worker; its connectors resume when it is started again.

    A database keeps its log for a connector that does not run. If it is no longer needed, remove
    the capture first. Without a worker there is nothing to do.
    """
    running = read_worker(app.home)
    stopped = None
    if running is not None and running.process.is_running():
        running.process.ask_to_stop()
        running.process.wait_until_stopped(30.0)
        stopped = running.url
    app.output.line(
        f"stopped {stopped}" if stopped else "no local worker is running", {"stopped": stopped}
    )


@connect.command()
@with_app
def status(app: AppContext) -> None:
    """Show whether the worker answers, and the state of its connectors.

    This is the local worker, or the one that connect.url names. The exit status is 0 when it
    answers and no connector has failed, else 3.
    """
    if app.settings["connect.url"] is not None:
        healthy = _show_connectors(app, {"running": True}, connect_client(app))
        sys.exit(0 if healthy else UNREACHABLE_OR_TIMEOUT)
    last = read_worker(app.home)
    if last is None:
        app.output.line("no local worker was ever started", {"running": False})
        app.output.info("start one: lastword connect start")
        sys.exit(UNREACHABLE_OR_TIMEOUT)
    if not _show(app, last):
        sys.exit(UNREACHABLE_OR_TIMEOUT)


@connect.command()
@with_app
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=LINES_SHOWN,
    show_default=True,
    help="How many existing lines to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until Ctrl-C.")
def log(app: AppContext, lines: int, follow: bool) -> None:
    """Print the end of the local worker's log, running or not."""
    info = read_worker(app.home)
    if info is None or not info.log_file.exists():
        raise ConnectWorkerError(
            "no local worker was ever started", hint="start one: lastword connect start"
        )
    print_lines(
        info.log_file,
        lines,
        lambda line: app.output.line(printable(line), {"line": line}),
        follow=follow,
    )


def _show(app: AppContext, info: WorkerInfo) -> bool:
    """Print a worker and its connectors; return whether all is well."""
    summary: dict[str, object] = {
        "running": info.process.is_running(),
        "url": info.url,
        "pid": info.process.pid,
        "group": info.group,
        "detached": info.detached,
        "log": str(info.log_file),
    }
    if not summary["running"]:
        app.output.details(summary)
        return False
    return _show_connectors(app, summary, ConnectClient(info.url))


def _show_connectors(app: AppContext, summary: dict[str, object], client: ConnectClient) -> bool:
    connectors = [_connector(client, name) for name in client.connectors()]
    if app.json_lines:
        app.output.details({**summary, "connectors": connectors})
    else:
        app.output.details(summary)
        if connectors:
            app.output.line("", {})
            app.output.rows(list(connectors[0]), connectors)
    return all(each["failure"] is None for each in connectors)


def _connector(client: ConnectClient, name: str) -> dict[str, object]:
    found = client.status(name)
    if found is None:
        return {"name": name, "state": "UNASSIGNED", "failure": None}
    return {"name": name, "state": found.state, "failure": found.failure}
