"""Partitions come and go at random while several threads read, write, scan and watch.

Every key has one writer, so what a thread wrote last is what it must read. Offsets have no gaps in
this log, so a watch that skips nothing sees consecutive ones in each partition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from lastword.errors import (
    NotReadyError,
    NotUpToPositionError,
    PartitionNotHereError,
    StoreError,
    WatchLostError,
)
from lastword.kafka.connection import Connection
from lastword.records import Position
from lastword.replicas.replica import Replica
from lastword.stores.base import StoredRow, StoreScan
from lastword.table.table import Table
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.shared_tables.partial_tables import (
    PARTITIONS,
    gain,
    home,
    open_partial,
    replicas_of,
    rows_held,
)

WRITERS = 3
KEYS_EACH = 12
CHANGES = 25
OPERATIONS_MIN = 60
NOT_NOW = (NotReadyError, PartitionNotHereError)


class Crowd:
    """The state that the threads share: the table, whether to continue, and what each did."""

    def __init__(self, table: Table, seed: int) -> None:
        self.table = table
        self.seed = seed
        self.done = threading.Event()
        self.written = [dict[bytes, bytes | None]() for _ in range(WRITERS)]
        self.served = self.refused = self.scans = self.changes = self.watches = 0

    # -- one thread each -------------------------------------------------------------------

    def change(self) -> None:
        """Gain and lose partitions; never all of them at once."""
        random, replicas = Random(self.seed), replicas_of(self.table)
        for _ in range(CHANGES):
            held = list(replicas.held)
            absent = [p for p in range(PARTITIONS) if p not in held]
            if absent and (len(held) == 1 or random.random() < 0.5):
                partition = random.choice(absent)
                replica = replicas.gain(partition)
                if random.random() < 0.7:
                    replicas.wait_for(Position({partition: replica.follower.offsets.target}), 60)
            else:
                replicas.lose(random.choice(held))

    def write_and_read(self, number: int) -> None:
        """Put and delete own keys, and read back what was written last."""
        random, mine = Random(self.seed * 100 + number), self.written[number]
        keys = [b"writer-%d-key-%d" % (number, n) for n in range(KEYS_EACH)]
        operations = 0
        while not self.done.is_set() or operations < OPERATIONS_MIN:
            operations += 1
            key = random.choice(keys)
            value = None if random.random() < 0.2 else b"%d" % operations
            try:
                replicas_of(self.table).at(home(key)).ensure_ready()
                self._write(key, value)
                mine[key] = value
            except NotUpToPositionError as error:
                assert error.version is not None
                mine[key] = value  # it is in the topic
            except NOT_NOW:
                self.refused += 1
                continue
            self._read_back(key, mine, random)

    def _write(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self.table.delete(key)
        else:
            self.table.put(key, value)

    def _read_back(self, key: bytes, mine: dict[bytes, bytes | None], random: Random) -> None:
        try:
            assert self.table.get(key) == mine[key]
            several = random.sample(list(mine), min(3, len(mine)))
            expected = {each: mine[each] for each in several if mine[each] is not None}
            assert self.table.get_many(several) == expected
            self.served += 1
        except NOT_NOW:
            self.refused += 1

    def scan(self) -> None:
        """Rows of one moment: of the partitions that were here then, in the order of their keys."""
        while not self.done.is_set() or not self.scans:
            try:
                with replicas_of(self.table).one_moment() as seen:
                    scans = {p: replica.scan() for p, replica in seen.items()}
                    counts = {p: replica.count() for p, replica in seen.items()}
                for p, scan in scans.items():
                    keys = [key for key, _ in self._rows(seen[p], scan)]
                    assert keys == sorted(set(keys))
                    assert {home(key) for key in keys} <= {p}
                    assert len(keys) == counts[p]
                self.scans += 1
            except PartitionNotHereError:
                self.refused += 1

    def _rows(self, replica: Replica, scan: StoreScan) -> list[StoredRow]:
        try:
            return list(scan)
        except StoreError as error:
            raise replica.explained(error) from error

    def watch(self) -> None:
        """Every change exactly once, from the start of a watch until its end."""
        while not self.done.is_set():
            try:
                with self.table.watch() as watch:
                    self.watches += 1
                    self._follow(watch.position, watch.take)
            except (WatchLostError, NotReadyError):
                continue

    def _follow(self, start: Position, take: Callable[[float], object]) -> None:
        expected = dict(start.offsets)
        while not self.done.is_set():
            change = take(0.1)
            if change is None:
                continue
            partition, offset = change.version  # type: ignore[attr-defined]
            assert offset == expected.get(partition, offset), "a change was skipped or told twice"
            expected[partition] = offset + 1
            self.changes += 1


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
@pytest.mark.parametrize("seed", [1, 2])
def test_answers_are_right_or_refused_while_partitions_come_and_go(
    connection: Connection, topic_name: str, tables: Tables, store: str, seed: int
) -> None:
    topic = RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    table = open_partial(tables, topic.name, {0, 2}, store=store, **RAW)
    crowd = Crowd(table, seed)
    with ThreadPoolExecutor(WRITERS + 2) as threads:
        running = [threads.submit(crowd.write_and_read, number) for number in range(WRITERS)]
        running += [threads.submit(crowd.scan), threads.submit(crowd.watch)]
        try:
            crowd.change()
        finally:
            crowd.done.set()
        for each in running:
            each.result(180)
    for partition in range(PARTITIONS):
        gain(table, partition)
    model = {key: value for mine in crowd.written for key, value in mine.items() if value}
    assert dict(table.items()) == rows_held(table) == topic.fold() == model
    assert len(table) == len(model)
    assert min(crowd.served, crowd.scans, crowd.changes, crowd.watches) > 0
