"""A store of the user's own: any object of the protocol will do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from lastword.errors import ConfigError
from lastword.stores.base import Capabilities
from tests.support.local_tables.tables import Tables


class ListScan:
    def __init__(self, rows: list[tuple[bytes, bytes]]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        return next(self._rows)

    def close(self) -> None:
        self._rows = iter(())


class DictStore:
    """The smallest store there can be, derived from nothing."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.opened = self.closed = 0
        self._checkpoint: bytes | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def open(self) -> None:
        self.opened += 1

    def close(self) -> None:
        self.closed += 1

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]

    def scan(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> ListScan:
        wanted = [
            (key, row)
            for key, row in sorted(self.rows.items(), reverse=reverse)
            if (start is None or key >= start) and (end is None or key < end)
        ]
        return ListScan(wanted)

    def count(self) -> int:
        return len(self.rows)

    def checkpoint(self) -> bytes | None:
        return self._checkpoint

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        self.rows.update(puts)
        for key in deletes:
            self.rows.pop(key, None)
        self._checkpoint = checkpoint

    def evict(self) -> list[bytes]:
        return []

    def clear(self) -> None:
        self.rows.clear()
        self._checkpoint = None

    def size_bytes(self) -> int:
        return sum(len(key) + len(row) for key, row in self.rows.items())

    def stats(self) -> Mapping[str, int]:
        return {}


def test_a_callable_makes_a_store_for_each_partition(topic: str, tables: Tables) -> None:
    made: dict[int, DictStore] = {}
    directories: dict[int, Path] = {}

    def make(partition: int, directory: Path) -> DictStore:
        directories[partition] = directory
        return made.setdefault(partition, DictStore())

    table = tables.open(topic, store=make, application_id="app", name="own")
    table.put_many({f"key-{n}": n for n in range(30)})
    table.delete("key-7")
    assert sorted(made) == [0, 1, 2]
    assert sum(len(store.rows) for store in made.values()) == len(table) == 29
    assert [key for key, _ in table.range("key-1", "key-12")] == ["key-1", "key-10", "key-11"]
    assert next(key for key, _ in table.items(reverse=True)) == "key-9"
    assert directories[1].is_relative_to(tables.state_dir / "app" / "own" / "1")
    table.close()
    assert [(store.opened, store.closed > 0) for store in made.values()] == [(1, True)] * 3


def test_an_object_is_a_store_for_a_topic_of_one_partition(
    one_partition: str, tables: Tables
) -> None:
    store = DictStore()
    table = tables.open(one_partition, store=store)
    table.put("a", 1)
    assert table["a"] == 1
    assert set(store.rows) == {b"a"}


def test_one_object_for_several_partitions_is_refused_with_a_hint(
    topic: str, tables: Tables
) -> None:
    with pytest.raises(ConfigError, match="cannot hold several partitions") as refused:
        tables.open(topic, store=DictStore())
    assert "callable (partition, directory)" in (refused.value.hint or "")


def test_a_store_that_keeps_its_checkpoint_continues_from_it(
    one_partition: str, tables: Tables
) -> None:
    store = DictStore()
    first = tables.open(one_partition, store=store)
    first.put_many({"a": 1, "b": 2})
    first.close()
    again = tables.open(one_partition, store=store)
    (progress,) = again.progress()
    assert (progress.start, progress.records) == (2, 0)
    assert dict(again.items()) == {"a": 1, "b": 2}
