"""Named sets of topic settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lastword.errors import ConfigError

DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class Profile:
    """Settings for a new topic, and a description of their effect and cost."""

    name: str
    purpose: str
    settings: Mapping[str, str]


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            DEFAULT_PROFILE,
            "compacted, with the brokers' defaults for the rest",
            {"cleanup.policy": "compact", "unclean.leader.election.enable": "false"},
        ),
        Profile(
            # Tombstones stay for the shortest time that the check accepts. Less would not clean
            # faster, but every table that was away for a moment would read the log twice.
            "aggressive",
            "compacted within seconds of a change, at the brokers' expense; tombstones stay for a "
            "minute, and a table that was away for longer reads the log twice",
            {
                "cleanup.policy": "compact",
                "unclean.leader.election.enable": "false",
                "min.cleanable.dirty.ratio": "0.01",
                "segment.ms": "10000",
                "segment.bytes": "536870912",
                "delete.retention.ms": "60000",
            },
        ),
    )
}


def profile_named(name: str) -> Profile:
    """The profile; raises a ConfigError that lists the profiles."""
    try:
        return PROFILES[name]
    except KeyError:
        raise ConfigError(
            f"{name!r} is not a topic profile", hint=f"one of {', '.join(PROFILES)}"
        ) from None
