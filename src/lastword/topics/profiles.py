"""Named sets of topic settings, so that nobody has to remember eight of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lastword.errors import ConfigError

DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class Profile:
    """Settings for a new topic, what they are for, and what they cost."""

    name: str
    purpose: str
    settings: Mapping[str, str]


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            DEFAULT_PROFILE,
            "Compacted; everything else as the brokers have it: a log is compacted once half of "
            "it is new, segments last a week or a gigabyte, tombstones a day.",
            {"cleanup.policy": "compact", "unclean.leader.election.enable": "false"},
        ),
        Profile(
            "aggressive",
            "Compacted seconds after a change: short segments, and one percent of new data is "
            "enough to clean. Costs the brokers disk and processor time. Tombstones stay for a "
            "minute only: a table that was away for longer has to read the log a second time.",
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
    """The profile, or a ConfigError that names those there are."""
    try:
        return PROFILES[name]
    except KeyError:
        raise ConfigError(
            f"there is no topic profile {name!r}", hint=f"one of {', '.join(PROFILES)}"
        ) from None
