"""How a read of a partitioned table finds the instance that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError

Layout = Literal["replicated", "partitioned"]
"""Whether every instance holds every partition, or the instances share them."""

MAX_STALE_S = 10.0


def check_layout(layout: Layout, standbys: int) -> None:
    """Raise ConfigError unless there is such a layout."""
    if layout not in get_args(Layout):
        raise ConfigError(
            f"layout={layout!r} is not a layout", hint=f"use one of {', '.join(get_args(Layout))}"
        )
    if not 0 <= standbys <= 10:
        raise ConfigError(f"standbys={standbys} is out of range", hint="use 0 to 10")


@dataclass(frozen=True, slots=True)
class Routing:
    """Where a read may be answered.

    The owner of a partition is asked first, then its standbys. An instance refuses to answer when
    its copy is more than ``max_stale_s`` seconds old or more than ``max_lag`` offsets behind. With
    ``route`` off, only the partitions kept by this instance are read.
    """

    route: bool = True
    max_stale_s: float = MAX_STALE_S
    max_lag: int | None = None


DEFAULT_ROUTING = Routing()


def make_routing(
    *, route: bool = True, max_stale: Duration | None = None, max_lag: int | None = None
) -> Routing:
    """The routing of these options; raises ConfigError."""
    if max_lag is not None and max_lag < 0:
        raise ConfigError(f"max_lag={max_lag} is negative", hint="use 0 or more offsets")
    max_stale_s = MAX_STALE_S if max_stale is None else milliseconds(max_stale) / 1000
    return Routing(route, max_stale_s, max_lag)
