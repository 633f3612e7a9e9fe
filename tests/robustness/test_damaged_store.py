"""Local files can be lost or damaged in any way; the topic has it all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables

KEPT = {"store": "rocksdb", **RAW}


def empty_manifest(store: Path) -> None:
    for file in store.glob("MANIFEST-*"):
        file.write_bytes(b"")


def garbled_pointer(store: Path) -> None:
    (store / "CURRENT").write_bytes(b"garbage")


def mark_of_damage_met_while_reading(store: Path) -> None:
    (store / "DAMAGED").touch()


@pytest.mark.parametrize(
    "damage", [empty_manifest, garbled_pointer, mark_of_damage_met_while_reading]
)
def test_a_damaged_store_is_thrown_away_and_rebuilt(
    topic: RealTopic, tables: Tables, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    with tables.make(topic.name, **KEPT) as table:
        table.put_many({b"key-%d" % n: b"1" for n in range(50)})
    (lock,) = tables.state_dir.rglob(".lock")
    damage(lock.parent / "store")
    table = tables.open(topic.name, **KEPT)
    assert table.progress()[0].start == 0
    assert dict(table.items()) == topic.fold()
