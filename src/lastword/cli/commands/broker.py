"""``lastword broker``: start, stop and inspect the local broker."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from lastword.broker import cluster_probe
from lastword.broker.broker_classes import prepare_broker
from lastword.broker.info import BrokerInfo, NodeInfo, find_running, read_info
from lastword.broker.login import BrokerLogin
from lastword.cli.settings.local_broker import kafka_runtime, local_broker, running_broker
from lastword.cli.subcommands.broker_log import log
from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.failure import UNREACHABLE_OR_TIMEOUT
from lastword.cli.support.progress_bar import progress_bar
from lastword.errors import BrokerError, ConfigError
from lastword.home import HomeFolder
from lastword.jvm.ports import LOOPBACK

_ANSWER_SECONDS = 2.0


@click.group()
def broker() -> None:
    """Start, stop and inspect the local broker.

    It is a real Apache Kafka, reachable from this machine only. Every user of this machine may
    read and write all of it, unless it is started with --secure. Its data, settings and log are
    below LASTWORD_HOME/broker and stay when it stops.
    """


broker.add_command(log)


@broker.command()
@with_app
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The port for clients.  [default: 9092]"
)
@click.option(
    "--brokers",
    type=click.IntRange(1, 9),
    help="How many brokers form the cluster, on this port and the next ones.  [default: 1]",
)
@click.option(
    "--setting",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of Kafka's broker, over those of lastword.toml; repeatable.",
)
@click.option(
    "--secure/--open",
    default=None,
    help="Let in only you, or every user of this machine.  [default: broker.secure, else open]",
)
def start(
    app: AppContext,
    port: int | None,
    brokers: int | None,
    properties: tuple[str, ...],
    secure: bool | None,
) -> None:
    """Start the local broker and leave it running.

    Returns once it answers. All other commands then find it automatically. The first start
    fetches Kafka's jars (47 MB); later ones need no network.

    With --secure it requires a login (SASL/PLAIN). The password is generated and kept in
    LASTWORD_HOME/broker/client.properties, which only you can read: commands find it
    automatically, and Kafka's own tools take the file as --command-config.

    For example: lastword broker start --setting log.cleaner.backoff.ms=1000
    """
    if port is not None:
        app.flags["broker.port"] = port
    if brokers is not None:
        app.flags["broker.brokers"] = brokers
    if secure is not None:
        app.flags["broker.secure"] = secure
    running = running_broker(app)
    if running is None:
        starting = local_broker(app, detached=True, properties=_parse(properties))
        app.output.info(f"starting Kafka at {starting.bootstrap_servers}")
        starting.start()
        running = starting.info
    elif (
        properties
        or port not in (None, running.nodes[0].port)
        or (secure is False and running.secure)
    ):
        raise BrokerError(
            f"a broker runs at {running.bootstrap_servers} already",
            hint="to restart it with other settings, stop it first: lastword broker stop",
        )
    _show(app, running)


@broker.command()
@with_app
def fetch(app: AppContext) -> None:
    """Fetch Kafka's jars and prepare a quick start; neither needs a network from then on.

    A broker that runs for a moment writes an archive of its classes, from which the next ones
    start in half of the processor time. Nothing is done that was done before.
    """
    runtime = kafka_runtime(app)
    with progress_bar(app.output, "preparing the broker's start (once)", announce=True) as report:
        prepare_broker(app.home, runtime, progress=report)
    java, jars = runtime.java, runtime.class_path[0].parent
    app.output.line(
        f"ready: Java {java.release} from {java.source}, jars in {jars}",
        {"java": str(java.executable), "jars": str(jars)},
    )


@broker.command()
@with_app
def stop(app: AppContext) -> None:
    """Stop the local broker; its data stays.

    Waits until it has written everything to disk. Without a broker there is nothing to do.
    """
    running = find_running(app.home)
    if running is not None:
        running.stop()
    stopped = None if running is None else running.bootstrap_servers
    app.output.line(
        f"stopped {stopped}" if stopped else "no local broker is running", {"stopped": stopped}
    )


@broker.command()
@with_app
def status(app: AppContext) -> None:
    """Show whether the local broker runs and answers, and where its files are.

    The exit status is 0 when every broker answers, else 3.
    """
    last = read_info(app.home / HomeFolder.BROKER)
    if last is None:
        app.output.line("no local broker was ever started", {"running": False})
        app.output.info("start one: lastword broker start")
        sys.exit(UNREACHABLE_OR_TIMEOUT)
    if not _show(app, last):
        sys.exit(UNREACHABLE_OR_TIMEOUT)


def _show(app: AppContext, info: BrokerInfo) -> bool:
    """Print a broker and its nodes; return whether all of them answer."""
    login = info.login
    nodes: list[Mapping[str, object]] = [_describe(node, login) for node in info.nodes]
    answers = all(node["state"] == "answers" for node in nodes)
    summary: dict[str, object] = {
        "running": bool(info.running_nodes()),
        "bootstrap_servers": info.bootstrap_servers,
        "cluster_id": info.cluster_id,
        "detached": info.detached,
        "secure": info.secure,
        "client_properties": info.client_properties and str(info.client_properties),
    }
    if app.json_lines:
        app.output.details({**summary, "nodes": nodes})
        return answers
    app.output.details(summary)
    app.output.line("", {})
    app.output.rows(list(nodes[0]), nodes)
    return answers


def _describe(node: NodeInfo, login: BrokerLogin | None) -> dict[str, object]:
    return {
        "broker": node.id,
        "state": _state(node, login),
        "pid": node.process.pid,
        "address": f"{LOOPBACK}:{node.port}",
        "metrics": f"http://{LOOPBACK}:{node.metrics_port}/metrics",
        "data": str(node.data_dir),
        "log": str(node.log_file),
    }


def _state(node: NodeInfo, login: BrokerLogin | None) -> str:
    if not node.process.is_running():
        return "stopped"
    try:
        view = cluster_probe.ask(LOOPBACK, node.port, _ANSWER_SECONDS, login)
    except OSError:
        return "silent"
    return "answers" if node.id in view.broker_ids else "fenced"


def _parse(properties: tuple[str, ...]) -> dict[str, str]:
    parsed = {}
    for word in properties:
        name, separator, value = word.partition("=")
        if not (name and separator):
            raise ConfigError(f"--setting {word} is not KEY=VALUE")
        parsed[name] = value
    return parsed
