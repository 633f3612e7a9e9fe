"""Which pipeline a command means, and where and how it runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lastword.cli.support.app_context import AppContext
from lastword.errors import ConfigError

if TYPE_CHECKING:
    from lastword.kafka.connection import Connection
    from lastword.pipelines import Pipeline
    from lastword.pipelines.run.driver import Mode


def load_pipeline(target: str) -> Pipeline:
    """The pipeline that ``MODULE:NAME`` names; its module is imported."""
    from lastword.pipelines import Pipeline

    found = load_named(target, "pipeline", "monitoring:app")
    module_name, _, name = target.partition(":")
    if not isinstance(found, Pipeline):
        raise ConfigError(
            f"{name!r} of {module_name} is not a Pipeline",
            hint=f"{name} = lastword.pipelines.Pipeline('my-application')",
        )
    return found


def load_named(target: str, what: str, example: str) -> object:
    """The object that ``MODULE:NAME`` names, or None; its module is imported."""
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise ConfigError(f"{target!r} names no {what}", hint=f"MODULE:NAME, as in {example}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0]:
            raise
        raise ConfigError(
            f"there is no module {module_name!r} here",
            hint="run the command where its file is, or install its package",
        ) from error
    return getattr(module, name, None)


def connection_of(app: AppContext, found: Pipeline) -> Connection:
    """What the flags say, else the pipeline's own cluster, else that of the settings."""
    flagged = {"connection.bootstrap_servers", "connection.command_config"} & app.flags.keys()
    return app.connection if flagged or found.connection is None else found.connection


def mode_of(app: AppContext) -> Mode:
    """How pipelines run here by default."""
    return cast("Mode", app.settings["pipeline.mode"])
