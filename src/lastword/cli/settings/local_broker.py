"""The local broker as flags, environment and ``lastword.toml`` describe it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.info import BrokerInfo, find_running
from lastword.broker.runtime import KafkaRuntime
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.errors import BrokerError
from lastword.home import HomeFolder


def kafka_runtime(app: AppContext) -> KafkaRuntime:
    """Java and the broker's jars, which are fetched when they are missing."""
    ivy_settings = app.settings["broker.ivy_settings"]
    title = "fetching the broker's jars (47 MB, once)"
    with progress_bar(app.output, title, announce=True) as report:
        return KafkaRuntime.prepare(
            app.home,
            os.environ,
            ivy_settings=Path(str(ivy_settings)) if ivy_settings else None,
            progress=report,
        )


def local_broker(
    app: AppContext, *, detached: bool, properties: Mapping[str, str] | None = None
) -> EmbeddedBroker:
    """The broker of this machine, not started yet; ``properties`` go over the settings file's."""
    given = app.settings.section("broker")
    return EmbeddedBroker(
        app.home / HomeFolder.BROKER,
        kafka_runtime(app),
        brokers=int(str(given["brokers"])),
        port=int(str(given["port"])),
        settings={**app.settings.free.get("broker.properties", {}), **(properties or {})},
        secure=bool(given["secure"]),
        detached=detached,
    )


def running_broker(app: AppContext) -> BrokerInfo | None:
    """The broker that runs already; BrokerError when it is open and the settings want it secure."""
    running = find_running(app.home)
    if running is not None and app.settings["broker.secure"] and not running.secure:
        raise BrokerError(
            f"the broker at {running.bootstrap_servers} lets in every user of this machine, "
            "but the settings ask for a secure one",
            hint="restart it: lastword broker stop, then lastword broker start --secure",
        )
    return running
