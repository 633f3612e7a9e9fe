"""Schema evolution: three versions of a profile in one compacted topic, read as the newest.

Programs of versions 1, 2 and 3 read and write at the same time. What an old one wrote is upgraded
as the new one reads it; nothing in the topic changes until `rewrite` writes old values again. The
newest version also reads the past. A snapshot has these profiles as typed columns:

    cd examples && lastword snapshot create example-schema-evolution --type schema_evolution:Profile

Run it with a broker at hand (``make up``): python examples/schema_evolution.py [HOST:PORT]
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

import lastword as lw
from lastword.codecs import upgrade
from lastword.table.schemas.held_versions import count_versions, versioned
from lastword.table.schemas.rewriting import rewrite

TOPIC = "example-schema-evolution"


class ProfileV1(msgspec.Struct):
    """The first program."""

    user_name: str
    age: str


class ProfileV2(msgspec.Struct):
    """The second: a shorter name for the name, and an address."""

    name: str
    age: str
    email: str | None = None

    @upgrade(from_version=1)
    def _shorter_name(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {"name": old.pop("user_name"), **old}


class Profile(msgspec.Struct):
    """The third: the age is a number, and there is a language, with a default."""

    name: str
    age: int
    email: str | None = None
    language: str = "en"

    _shorter_name = ProfileV2._shorter_name

    @upgrade(from_version=2)
    def _age_is_a_number(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {**old, "age": int(old["age"])}


def main(bootstrap_servers: str) -> None:
    """Each version writes a user; the newest reads all three, the oldest what it understands."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if TOPIC not in admin.topics():
            lw.create_topic(admin, TOPIC, partitions=1)

    with (
        lw.Table(TOPIC, connection=cluster, value=ProfileV1, name="old") as old,
        lw.Table(TOPIC, connection=cluster, value=ProfileV2, name="middle") as middle,
        lw.Table(TOPIC, connection=cluster, value=Profile, name="new") as new,
    ):
        first = old.put("user-1", ProfileV1("Alice", "25"))
        second = middle.put("user-2", ProfileV2("Bob", "30", "bob@example.com"))
        third = new.put("user-3", Profile("Carol", 35, language="fr"))
        print("versions:", first, second, third)

        read = dict(new.items())
        for key, profile in sorted(read.items()):
            print(f"{key}: {profile}")
        assert read["user-1"] == Profile("Alice", 25)
        assert read["user-2"] == Profile("Bob", 30, "bob@example.com")

        codec = versioned(new.decoder.value)
        held = {each.version.number: each.keys for each in count_versions(new.raw, codec)}
        assert held == {1: 1, 2: 1, 3: 1}, held
        done = rewrite(new.raw, codec, conditional=False)  # nobody else writes now
        print(f"rewritten: {done.written}")
        assert [each.version.number for each in count_versions(new.raw, codec)] == [3]
        assert new["user-1"] == Profile("Alice", 25)

        # An old program still writes. Compaction keeps its record, the last one of the key.
        written = old.put("user-3", ProfileV1("Carol", "36"))
        now = new.query.get("user-3", at_least=lw.Position({written.partition: written.offset + 1}))
        assert now.value.value == Profile("Carol", 36), "what version 1 does not know is lost"
        past = new.as_of(third)
        print("before:", past["user-3"], "after:", now.value.value)
        assert past["user-1"] == Profile("Alice", 25)
        assert past["user-3"] == Profile("Carol", 35, language="fr")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
