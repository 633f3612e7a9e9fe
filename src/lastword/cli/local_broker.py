"""The local broker as flags, environment and ``lastword.toml`` describe it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.cli.context import AppContext
from lastword.cli.progress import progress_bar


def local_broker(
    app: AppContext, *, detached: bool, properties: Mapping[str, str] | None = None
) -> EmbeddedBroker:
    """The broker of this machine, not started yet; its jars are fetched when they are missing.

    ``properties`` go over those of the settings file.
    """
    given = app.settings.section("broker")
    ivy_settings = given["ivy_settings"]
    with progress_bar(app.output, "fetching the broker's jars") as report:
        runtime = KafkaRuntime.prepare(
            app.home,
            os.environ,
            ivy_settings=Path(str(ivy_settings)) if ivy_settings else None,
            progress=report,
        )
    return EmbeddedBroker(
        app.home / "broker",
        runtime,
        brokers=int(str(given["brokers"])),
        port=int(str(given["port"])),
        settings={**app.settings.free.get("broker.properties", {}), **(properties or {})},
        detached=detached,
    )
