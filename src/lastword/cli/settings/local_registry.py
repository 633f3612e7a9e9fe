"""The registry of this machine, as ``lastword up --registry`` runs it."""

from __future__ import annotations

import os
from pathlib import Path

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.progress_bar import progress_bar
from lastword.errors import ConfigError
from lastword.home import HomeFolder
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.registry_server.runtime import RegistryRuntime


def local_registry(app: AppContext) -> EmbeddedRegistry:
    """A registry on top of the cluster, not started yet; its archive is fetched when missing."""
    if app.connection.security_protocol != "PLAINTEXT":
        raise ConfigError(
            "the registry of `lastword up` cannot log in to a cluster that requires it",
            hint="name your own registry: registry.url",
        )
    ivy_settings = app.settings["broker.ivy_settings"]
    title = "fetching the schema registry (159 MB, once)"
    with progress_bar(app.output, title, announce=True) as report:
        runtime = RegistryRuntime.prepare(
            app.home,
            os.environ,
            ivy_settings=Path(str(ivy_settings)) if ivy_settings else None,
            progress=report,
        )
    return EmbeddedRegistry(
        app.home / HomeFolder.REGISTRY,
        runtime,
        port=int(str(app.settings["registry.port"])),
        bootstrap_servers=app.connection.bootstrap_servers,
    )
