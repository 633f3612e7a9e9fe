"""The argument TABLE and the options that say how its keys and values are written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import click

from lastword.cli.context import AppContext, with_cluster
from lastword.cli.literals import parse_literal

if TYPE_CHECKING:
    from lastword.table.decoder import BadRecordPolicy

P = ParamSpec("P")
R = TypeVar("R")

CODEC_NAMES = ("string", "json", "bytes", "int64", "msgpack")


@dataclass(frozen=True)
class TableSpec:
    """A table as it was named: in ``lastword.toml`` or by its topic, with flags on top."""

    name: str
    topic: str
    key: str
    value: str
    store: str
    on_bad: BadRecordPolicy
    allow_expiry: bool

    def parse_key(self, text: str) -> Any:
        """A key from the command line."""
        return parse_literal(text, self.key)

    def parse_value(self, text: str) -> Any:
        """A value from the command line."""
        return parse_literal(text, self.value)


def table_spec(
    app: AppContext, name: str, *, key: object = None, value: object = None
) -> TableSpec:
    """The table of that name in the settings, else the topic of that name."""
    configured = app.settings.table(name)
    return TableSpec(
        name=name,
        topic=str(configured["topic"]),
        key=str(key or configured["key"]),
        value=str(value or configured["value"]),
        store=str(configured["store"]),
        on_bad=cast("BadRecordPolicy", configured["on_bad"]),
        allow_expiry=bool(configured["allow_expiry"]),
    )


def with_table(command: Callable[Concatenate[AppContext, TableSpec, P], R]) -> Callable[P, R]:
    """``with_cluster``, and the TABLE to work on."""

    @with_cluster
    @functools.wraps(command)
    def run(app: AppContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        spec = table_spec(
            app,
            str(kwargs.pop("table")),
            key=kwargs.pop("key_codec"),
            value=kwargs.pop("value_codec"),
        )
        return command(app, spec, *args, **kwargs)

    run = click.option(
        "--value-codec",
        type=click.Choice(CODEC_NAMES),
        help="How values are written.  [default: json]",
    )(run)
    run = click.option(
        "--key-codec",
        type=click.Choice(CODEC_NAMES),
        help="How keys are written.  [default: string]",
    )(run)
    return click.argument("table")(run)
