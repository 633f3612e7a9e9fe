"""Arguments of reads and writes that the owner handles: conditions, deletes, consistency."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, get_args

from lastword.errors import ConfigError
from lastword.records import Absent, Version
from lastword.snapshots.travel.moments import Moment


class Tombstone(Enum):
    """The type of TOMBSTONE, the value that means delete in ``put_many``."""

    TOMBSTONE = "TOMBSTONE"


TOMBSTONE: Final = Tombstone.TOMBSTONE

IfVersion = Version | Absent | None
"""A condition: the version that a key must have, ABSENT if it must not exist, or None."""

Conditions = Mapping[Any, Version | Absent] | Absent | None
"""The conditions by key, or ABSENT for all keys."""

Consistency = Literal["local", "linearizable"]
"""Whether a read is answered by this process or by the owner of the partition."""


def check_consistency(consistency: Consistency, at: Moment | None) -> None:
    """Raise ConfigError if the consistency does not exist or cannot be used for that moment."""
    if consistency not in get_args(Consistency):
        raise ConfigError(
            f"consistency={consistency!r} does not exist",
            hint=f"use one of {', '.join(get_args(Consistency))}",
        )
    if at is not None and consistency != "local":
        raise ConfigError(
            "a read of the past is always local", hint="omit consistency, or omit at="
        )
