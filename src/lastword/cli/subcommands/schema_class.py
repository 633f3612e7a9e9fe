"""The class of a table's values, named on the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lastword.cli.support.pipeline_target import load_named
from lastword.cli.support.table_options import TableSpec
from lastword.codecs.value_types import is_value_type
from lastword.errors import ConfigError

type_option = click.option(
    "--type",
    "target",
    metavar="MODULE:CLASS",
    help="The class of the values, with its upgrade steps; its module is imported.",
)


def with_class(spec: TableSpec, target: str | None) -> TableSpec:
    """The table with values of the class that ``--type`` names."""
    return spec if target is None else replace(spec, value_class=load_class(target))


def load_class(target: str) -> type[Any]:
    """The class that ``MODULE:CLASS`` names; its module is imported."""
    found = load_named(target, "class", "profiles:Profile")
    if not isinstance(found, type) or not is_value_type(found):
        raise ConfigError(
            f"{target} is not a class of values",
            hint="name a msgspec Struct, a dataclass or a pydantic model",
        )
    return found
