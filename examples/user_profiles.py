"""User profiles in a compacted topic: write, update, delete, query, rebuild.

Run it with a broker at hand (``make up``): python examples/user_profiles.py [HOST:PORT]
"""

from __future__ import annotations

import sys
import tempfile

import lastword as lw


def main(bootstrap_servers: str) -> None:
    """Leave four profiles in the topic, and prove that a lost copy is no loss."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "example-profiles" not in admin.topics():
            lw.create_topic(admin, "example-profiles", profile="aggressive")

    with (
        tempfile.TemporaryDirectory() as state_dir,
        lw.Table(
            "example-profiles", connection=cluster, store="rocksdb", state_dir=state_dir
        ) as users,
    ):
        names = ["Alice", "Bob", "Charlie", "Diana", "Eve"]
        outcomes = users.put_many(
            {f"user-{i}": {"name": name, "version": 1} for i, name in enumerate(names, 1)}
        )
        assert all(outcome.status == "ok" for outcome in outcomes)
        version = users.put("user-1", {"name": "Alice Smith", "version": 2})
        print(f"user-1 is now at {version}: {users['user-1']}")
        users.delete("user-5")
        for key, profile in users.range("user-2", "user-4"):
            print(key, profile["name"])

    # The local copy is gone with its directory; the topic has everything.
    with lw.Table("example-profiles", connection=cluster) as users:
        print(f"rebuilt with {len(users)} profiles, up to {users.position()}")
        assert sorted(users) == ["user-1", "user-2", "user-3", "user-4"]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
