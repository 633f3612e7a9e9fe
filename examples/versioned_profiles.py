"""Multi-version state on a plain compacted topic: each version has a key of its own, ``user-1@3``.

Compaction keeps the last record of each key, so versions survive it when the number of the version
is a part of the key. Any Kafka client can read and write this; the writer limits how many there
are by deleting the oldest. ``Table(..., versions=5)`` keeps versions without changing keys, but
only where that table runs.

Run it with a broker at hand (``make up``): python examples/versioned_profiles.py [HOST:PORT]
"""

from __future__ import annotations

import sys
from typing import Any

import lastword as lw

TOPIC = "example-versioned-profiles"
KEPT = 3


def version_key(user: str, number: int) -> str:
    """``user-1@0003``: keys are ordered by their bytes, so numbers need a fixed width."""
    return f"{user}@{number:04}"


def save(profiles: lw.Table, user: str, profile: dict[str, Any]) -> int:
    """Write the next version, make it the current one, and delete the one that is too old.

    The version comes first and by itself: whoever sees the current number finds its version.
    """
    number = profiles.get(user, {"version": 0})["version"] + 1
    profiles.put(version_key(user, number), profile)
    changes: dict[str, Any] = {user: {"version": number}}
    if number > KEPT:
        changes[version_key(user, number - KEPT)] = lw.TOMBSTONE
    for outcome in profiles.put_many(changes):
        if outcome.error is not None:
            raise outcome.error
    return number


def history(profiles: lw.Table, user: str) -> dict[int, dict[str, Any]]:
    """Every version that is kept, by its number."""
    with profiles.prefix(f"{user}@") as found:
        return {int(key.rpartition("@")[2]): profile for key, profile in found}


def main(bootstrap_servers: str) -> None:
    """Alice changes four times; the last three are there, in a new table as well."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if TOPIC not in admin.topics():
            lw.create_topic(admin, TOPIC, partitions=2)

    with lw.Table(TOPIC, connection=cluster) as profiles:
        for age in (25, 26, 27, 28):
            last = save(profiles, "user-1", {"name": "Alice", "age": age})
        save(profiles, "user-10", {"name": "Judy", "age": 40})

    with lw.Table(TOPIC, connection=cluster, name="another-process") as profiles:
        kept = history(profiles, "user-1")
        for number, profile in kept.items():
            print(f"user-1@{number}: {profile}")
        assert list(kept) == [last - 2, last - 1, last]
        assert [profile["age"] for profile in kept.values()] == [26, 27, 28]
        assert profiles[version_key("user-1", profiles["user-1"]["version"])]["age"] == 28


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
