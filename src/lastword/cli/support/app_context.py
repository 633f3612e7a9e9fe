"""What every command is given: settings, the connection, and where to print."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import click

from lastword.cli.support.output import CommandOutput
from lastword.errors import ConfigError

if TYPE_CHECKING:
    from lastword.catalog.catalog import Entries
    from lastword.cli.settings import SettingValue
    from lastword.cli.settings.settings_file import Settings
    from lastword.codecs.registry import Registry
    from lastword.codecs.registry.registry import IdPlace
    from lastword.kafka.connection import Connection
    from lastword.kafka.log.source import LogSource

P = ParamSpec("P")
R = TypeVar("R")
_LOGIN = ("username", "password", "token", "ca", "certificate", "key", "key_password")
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class AppContext:
    """One run of the command line. Nothing is read or connected before a command asks for it."""

    def __init__(self) -> None:
        self.flags: dict[str, SettingValue] = {}
        self.config_file: Path | None = None
        self.json_lines = False
        self.verbosity = 0
        self.log_format = "text"
        self.users_umask = 0o022

    @cached_property
    def output(self) -> CommandOutput:
        """Where the command prints."""
        return CommandOutput(json_lines=self.json_lines)

    @cached_property
    def settings(self) -> Settings:
        """Flags over environment over ``lastword.toml`` over defaults."""
        from lastword.cli.settings.settings_file import load_settings

        file = self.config_file
        if file is None and (named := os.environ.get("LASTWORD_CONFIG")):
            file = Path(named)
        return load_settings(file, os.environ, self.flags)

    @cached_property
    def home(self) -> Path:
        """The directory of everything kept on this machine, closed to its other users."""
        from lastword.home import default_home, tighten_home

        given = self.settings["home"]
        home = Path(str(given)).absolute() if given else default_home()
        tighten_home(home)
        return home

    def write_for_others(self, path: str) -> None:
        """From now on files get the permissions that the user's shell gives, unless below home.

        Files below home stay private; files that a user has written elsewhere may be shared.
        """
        if not Path(path).absolute().is_relative_to(self.home.absolute()):
            os.umask(self.users_umask)

    @property
    def state_dir(self) -> Path:
        """The directory of the tables' stores."""
        from lastword.home import HomeFolder

        given = self.settings["state_dir"]
        return Path(str(given)) if given else self.home / HomeFolder.STATE

    @property
    def application_id(self) -> str:
        """The name that the processes of one application share."""
        return str(self.settings["application_id"])

    @cached_property
    def connection(self) -> Connection:
        """The cluster that was named, else the local broker that runs."""
        from lastword.cli.settings.connecting import connection_from

        return connection_from(self.settings, self.home)

    @cached_property
    def catalog(self) -> Entries:
        """What the cluster's catalog says about its topics, read once.

        If it cannot be read, only settings and flags count, and a message says so. A cluster
        that does not answer at all raises ConnectionFailedError, as it would a moment later.
        """
        from lastword.catalog.catalog import read_catalog
        from lastword.errors import LastwordError
        from lastword.kafka.admin import Admin

        with Admin(self.connection) as admin:
            admin.cluster_id()
            try:
                return read_catalog(admin, self.log_source)
            except LastwordError as error:
                self.output.info(f"the catalog cannot be read and is not used: {error}")
                return {}

    @cached_property
    def registry(self) -> Registry:
        """The schema registry of the settings; raises ConfigError when none is named."""
        from lastword.codecs.registry import Registry

        given = self.settings.section("registry")
        if given["url"] is None:
            raise ConfigError(
                "values with a schema need a registry, and none is set",
                hint="set registry.url in lastword.toml, or LASTWORD_REGISTRY_URL",
            )
        login: dict[str, Any] = {
            name: None if given[name] is None else str(given[name]) for name in _LOGIN
        }
        return Registry(str(given["url"]), **login, id_in=cast("IdPlace", given["id_in"]))

    @property
    def log_source(self) -> LogSource:
        """The logs of that cluster."""
        from lastword.kafka.log.kafka_log import KafkaLog

        return KafkaLog(self.connection)


class SharedOption(click.Option):
    """An option that many commands take; --help lists it after the command's own."""


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback that stores an option's value in the AppContext instead of passing it on."""

    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(context.ensure_object(AppContext), name, value)

    return keep


def _keep_flag(setting: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            context.ensure_object(AppContext).flags[setting] = value

    return keep


_SETTINGS_FILE_OPTION: Option = click.option(
    "--config",
    cls=SharedOption,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    expose_value=False,
    callback=_keep("config_file"),
    help="The settings file.  [default: LASTWORD_CONFIG, else ./lastword.toml]",
)
_APP_OPTIONS: tuple[Option, ...] = (
    _SETTINGS_FILE_OPTION,
    click.option(
        "--json",
        cls=SharedOption,
        is_flag=True,
        default=None,
        expose_value=False,
        callback=_keep("json_lines"),
        help="Print JSON, one object per line.",
    ),
    click.option(
        "-v",
        "--verbose",
        cls=SharedOption,
        count=True,
        expose_value=False,
        callback=_keep("verbosity"),
        help="Log to standard error; -vv logs more.",
    ),
    click.option(
        "--log-format",
        cls=SharedOption,
        type=click.Choice(["text", "json"]),
        expose_value=False,
        callback=_keep("log_format"),
        help="The format of log lines.  [default: text]",
    ),
)
_CLUSTER_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--bootstrap-servers",
        cls=SharedOption,
        metavar="HOST:PORT",
        expose_value=False,
        callback=_keep_flag("connection.bootstrap_servers"),
        help="The cluster.  [default: the local broker]",
    ),
    click.option(
        "--command-config",
        cls=SharedOption,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        expose_value=False,
        callback=_keep_flag("connection.command_config"),
        help="A Java client.properties, as Kafka's own tools take it.",
    ),
)


def with_app(command: Callable[Concatenate[AppContext, P], R]) -> Callable[P, R]:
    """Give a command the options every command takes and, first, the AppContext."""
    return _with_options(_given_app(command), _APP_OPTIONS)


def with_cluster(command: Callable[Concatenate[AppContext, P], R]) -> Callable[P, R]:
    """``with_app``, and the options that say which cluster."""
    return _with_options(with_app(command), _CLUSTER_OPTIONS)


def with_cluster_and_own_config(
    command: Callable[Concatenate[AppContext, P], R],
) -> Callable[P, R]:
    """``with_cluster`` for a command whose --config is a topic's setting, as in Kafka's tools.

    The settings file is then named by LASTWORD_CONFIG, or is ./lastword.toml.
    """
    others = [option for option in _APP_OPTIONS if option is not _SETTINGS_FILE_OPTION]
    return _with_options(_given_app(command), [*others, *_CLUSTER_OPTIONS])


def _given_app(command: Callable[Concatenate[AppContext, P], R]) -> Callable[P, R]:
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        app = click.get_current_context().ensure_object(AppContext)
        from lastword.cli.support.log_setup import set_up_logging

        set_up_logging(app.verbosity, app.log_format)
        return command(app, *args, **kwargs)

    return run


def _with_options(command: Callable[P, R], options: Sequence[Option]) -> Callable[P, R]:
    for option in reversed(options):
        command = option(command)
    return command


def confirm(question: str, *, assume_yes: bool) -> None:
    """Ask before something cannot be undone; without a terminal ``--yes`` is required."""
    if assume_yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} There is no terminal to ask on.", hint="pass --yes")
    click.confirm(question, abort=True, err=True)
