"""Creates topics for tables."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.errors import ConfigError
from lastword.kafka.admin import Admin, TopicInfo
from lastword.topics.profiles import DEFAULT_PROFILE, profile_named

DEFAULT_PARTITIONS = 3
DEFAULT_REPLICATION = 1


def create_topic(
    admin: Admin,
    name: str,
    *,
    partitions: int = DEFAULT_PARTITIONS,
    replication: int = DEFAULT_REPLICATION,
    profile: str = DEFAULT_PROFILE,
    settings: Mapping[str, str] | None = None,
) -> TopicInfo:
    """Create the topic and return when every broker knows it.

    ``settings`` win over the profile's. With two or more replicas, two must have a write before it
    is acknowledged, unless ``min.insync.replicas`` says otherwise. The number of partitions cannot
    change later: keys would move.
    """
    if partitions < 1 or replication < 1:
        raise ConfigError(
            f"{name!r} cannot have {partitions} partitions and {replication} replicas",
            hint="both are 1 or more",
        )
    chosen = dict(profile_named(profile).settings)
    if replication > 1:
        chosen["min.insync.replicas"] = "2"
    admin.create(
        name,
        partitions=partitions,
        replication=replication,
        settings=chosen | dict(settings or {}),
    )
    return admin.describe(name)
