"""The class of a table's values, named on the command line."""

from __future__ import annotations

from typing import Any

from lastword.cli.support.pipeline_target import load_named
from lastword.codecs.value_types import is_value_type
from lastword.errors import ConfigError


def load_class(target: str) -> type[Any]:
    """The class that ``MODULE:CLASS`` names; its module is imported."""
    found = load_named(target, "class", "profiles:Profile")
    if not isinstance(found, type) or not is_value_type(found):
        raise ConfigError(
            f"{target} is not a class of values",
            hint="name a msgspec Struct, a dataclass or a pydantic model",
        )
    return found
