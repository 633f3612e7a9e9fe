"""The argument TABLE and the options that say how its keys and values are written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from lastword.cli.context import AppContext, with_cluster
from lastword.cli.literals import parse_literal

P = ParamSpec("P")
R = TypeVar("R")

CODEC_NAMES = ("string", "json", "bytes", "int64", "msgpack")


@dataclass(frozen=True)
class TableSpec:
    """A table as it was named: in ``lastword.toml`` or by its topic, with flags on top."""

    topic: str
    key: str
    value: str

    def parse_key(self, text: str) -> Any:
        """A key from the command line."""
        return parse_literal(text, self.key)

    def parse_value(self, text: str) -> Any:
        """A value from the command line."""
        return parse_literal(text, self.value)


def with_table(command: Callable[Concatenate[AppContext, TableSpec, P], R]) -> Callable[P, R]:
    """``with_cluster``, and the TABLE to work on."""

    @with_cluster
    @functools.wraps(command)
    def run(app: AppContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        name = kwargs.pop("table")
        configured = app.settings.table(str(name))
        spec = TableSpec(
            topic=str(configured["topic"]),
            key=str(kwargs.pop("key_codec") or configured["key"]),
            value=str(kwargs.pop("value_codec") or configured["value"]),
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
