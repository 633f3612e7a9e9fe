"""The Connect worker as flags, environment and ``lastword.toml`` describe it."""

from __future__ import annotations

import os
from pathlib import Path

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.runtime import ConnectRuntime
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.connect_worker.worker_info import read_worker
from lastword.errors import ConnectWorkerError
from lastword.home import HomeFolder


def connect_runtime(app: AppContext) -> ConnectRuntime:
    """Java, the worker's jars and its plug-in, which are fetched when they are missing."""
    ivy_settings = app.settings["broker.ivy_settings"]
    title = "fetching Kafka Connect and Debezium (16 MB, once)"
    with progress_bar(app.output, title, announce=True) as report:
        return ConnectRuntime.prepare(
            app.home,
            os.environ,
            ivy_settings=Path(str(ivy_settings)) if ivy_settings else None,
            progress=report,
        )


def local_worker(app: AppContext, *, detached: bool) -> EmbeddedWorker:
    """The worker of this machine, not started yet."""
    return EmbeddedWorker(
        app.home / HomeFolder.CONNECT,
        connect_runtime(app),
        app.connection,
        port=int(str(app.settings["connect.port"])),
        detached=detached,
    )


def connect_client(app: AppContext) -> ConnectClient:
    """The worker that the settings name, else the one of this machine that runs."""
    if (url := app.settings["connect.url"]) is not None:
        return ConnectClient(str(url))
    info = read_worker(app.home)
    if info is None or not info.process.is_running():
        raise ConnectWorkerError(
            "no Connect worker runs on this machine",
            hint="start one: lastword connect start; or name yours: connect.url",
        )
    return ConnectClient(info.url)
