"""Malformed and unusual records: both readers return the same for them, and continue.

``make soak`` runs it with many more records, and under AddressSanitizer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from lastword.column_batch import ColumnBatch
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.keyspace import Keyspace
from lastword.native import NATIVE
from lastword.records import FENCE_KEY, REQUEST_HEADER, Batch, TableRules
from lastword.rows import PLAIN_ROW
from tests.support.shared_tables.wire import RawName, RawRecord, produce_raw

RECORDS = int(os.environ.get("LASTWORD_TEST_ODD_RECORDS", "3000"))
PER_BATCH = 200
Columns = ColumnBatch if NATIVE is None else NATIVE.Columns
RULES = [
    TableRules(Keyspace(partitions, suffix), takes_empty_keys=empty)
    for partitions in (1, 3)
    for suffix in (0, 8)
    for empty in (False, True)
]


def odd_records(seed: int, count: int) -> Iterator[RawRecord]:
    """Few keys, so that they come again; any bytes; header names that are not text, or hardly."""
    draw = random.Random(seed)
    sizes = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 2_000]
    keys = [FENCE_KEY, *(draw.randbytes(draw.choice(sizes)) for _ in range(60))]
    names = [
        b"",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"nul\0within",
        b"trace",
        REQUEST_HEADER.encode(),
        "grün".encode(),
        b"n" * 300,
    ]

    def header() -> tuple[str, bytes | None]:
        value = None if draw.random() < 0.3 else draw.randbytes(draw.choice(sizes))
        return RawName(draw.choice(names)), value

    for _ in range(count):
        value = None if draw.random() < 0.2 else draw.randbytes(draw.choice(sizes))
        headers = [header() for _ in range(draw.randrange(5))] if draw.random() < 0.3 else []
        yield RawRecord(draw.choice(keys), value, headers)


def marked(record: RawRecord) -> RawRecord:
    """The same as an owner would write it."""
    return record._replace(headers=[(REQUEST_HEADER, bytes(range(16)))])


def test_the_native_reader_gives_what_the_kafka_client_gives(
    connection: Connection, admin: Admin, topic_name: str
) -> None:
    admin.create(topic_name, partitions=1, replication=1, settings={"cleanup.policy": "compact"})
    seed = random.SystemRandom().getrandbits(32)
    records = list(odd_records(seed, RECORDS))
    # The headers of all of a poll's records are there or not: let there be polls with none, and
    # polls with those of an owner alone.
    for first in range(0, RECORDS, PER_BATCH):
        batch = records[first : first + PER_BATCH]
        if first // PER_BATCH % 3 == 1:
            batch = [record._replace(headers=()) for record in batch]
        elif first // PER_BATCH % 3 == 2:
            batch = [marked(each) if each.value else each._replace(headers=()) for each in batch]
        produce_raw(connection, topic_name, batch)
    plain, native = (
        gathered(KafkaLog(connection, native=native), topic_name)
        for native in (False, KafkaLog(connection).native)
    )
    assert native == plain, f"seed {seed}"


def gathered(source: KafkaLog, topic: str) -> list[object]:
    """In slices: polls cut the log where they like, and only some have records with headers."""
    slices: list[object] = []
    for start in range(0, RECORDS, PER_BATCH):
        batches = list(source.read(topic, {0: (start, start + PER_BATCH)}))
        slices.append([record for batch in batches for record in batch.records()])
        slices.append([offset for batch in batches for offset in batch.unreadable_headers])
        slices.append(sum(batch.size_bytes for batch in batches))
        slices.append(sum(batch.unowned() for batch in batches))
        slices.append([_applied(batches, rules) for rules in RULES])
    return slices


def _applied(batches: list[Batch], rules: TableRules) -> tuple[dict[bytes, bytes], int, int]:
    """What a store holds after all of them."""
    rows: dict[bytes, bytes] = {}
    keyless = misplaced = 0
    for batch in batches:
        changes = batch.table_rows(rules)
        rows.update(changes.puts)
        for key in changes.deletes:
            rows.pop(key, None)
        keyless, misplaced = keyless + changes.keyless, misplaced + changes.misplaced
    return rows, keyless, misplaced


THINGS: list[object] = [b"a", bytes(16), None, 1, "text", 2**70, [], -1]


def nonsense(draw: random.Random) -> list[object]:
    """Arguments for Columns, of which hardly any make sense."""

    def column() -> object:
        items = [draw.choice(THINGS) for _ in range(draw.choice([0, 1, 2]))]
        return draw.choice([items, items, items, None, (), "text"])

    return [draw.choice([0, -1, "x"]), draw.choice([0, 2**40]), *(column() for _ in range(7))]


def test_columns_of_nonsense_are_refused_or_whole() -> None:
    draw, refused = random.Random(1), 0
    for _ in range(RECORDS):
        try:
            columns = Columns(*nonsense(draw))
        except (TypeError, ValueError, OverflowError):
            refused += 1
            continue
        assert len(columns.keys()) == len(columns.values()) == len(columns)
        assert len(columns.offsets()) == 8 * len(columns)
        assert len(columns.requests() or columns.keys()) == len(columns)
        assert columns.unrequested(b"a") <= len(columns)
        if columns.headers is None:
            columns.rows(PLAIN_ROW, 3, 8, True, b"a")
    assert refused > 0
