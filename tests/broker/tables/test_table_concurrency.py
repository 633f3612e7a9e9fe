"""Many threads on one table: consistent walks, writers that are not held up, clean ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.errors import LastwordError, StoreError, TableClosedError
from lastword.kafka.connection import Connection
from lastword.records import Position, Record, Version
from lastword.table.table import Table
from lastword.table.table_state import TableState
from lastword.table.writing.conditions import TOMBSTONE
from tests.support.local_tables.tables import Tables, read_raw

WITHIN_S = 60.0


@pytest.fixture
def table(topic: str, tables: Tables, store: str) -> Table:
    return tables.open(topic, store=store, value="string")


class Background:
    """Repeats something in other threads until the block ends, then raises what went wrong."""

    def __init__(self, *actions: Callable[[int], Any]) -> None:
        self._actions = actions
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(len(actions))

    def __enter__(self) -> Background:
        self._running = [self._pool.submit(self._repeat, action) for action in self._actions]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        for running in self._running:
            running.result(WITHIN_S)

    def _repeat(self, action: Callable[[int], Any]) -> None:
        n = 0
        while not self._stop.is_set():
            action(n)
            n += 1


def fold(log: list[Record], position: Position) -> dict[str, str]:
    """The state of the log below a position."""
    state: dict[str, str] = {}
    for record in log:
        key = (record.key or b"").decode()
        if record.offset >= position.offsets[record.partition]:
            continue
        if record.value is None:
            state.pop(key, None)
        else:
            state[key] = record.value.decode()
    return state


def test_a_scan_sees_exactly_the_state_of_its_position_during_writes(
    topic: str, table: Table, connection: Connection
) -> None:
    def write(n: int) -> None:
        table.put_many(
            (f"key-{(n * 7 + i) % 40}", TOMBSTONE if i % 4 == 0 else f"{n}-{i}") for i in range(15)
        )

    answers: list[tuple[Position, dict[str, str]]] = []
    keys = [f"key-{n}" for n in range(40)]
    deadline = SYSTEM_CLOCK.monotonic() + WITHIN_S
    with Background(write):
        while len({str(position) for position, _ in answers}) < 30:
            assert SYSTEM_CLOCK.monotonic() < deadline, "the writes do not go on"
            scan = table.items()
            answers.append((scan.position, dict(scan)))
            backwards = table.query.scan(reverse=True)
            answers.append((backwards.position, {entry.key: entry.value for entry in backwards}))
            many = table.query.get_many(keys)
            answers.append((many.position, {k: entry.value for k, entry in many.value.items()}))
    log = read_raw(connection, topic)
    for position, seen in answers:
        assert seen == fold(log, position)


def test_an_open_scan_blocks_no_other_thread(table: Table) -> None:
    table.put_many((f"key-{n:05}", "old") for n in range(5_000))
    with table.items() as scan:
        assert next(scan) == ("key-00000", "old")
        for n in range(20):
            table.put(f"key-{n:05}", "new")
        table.delete("key-04999")
        assert table["key-00001"] == "new"
        rest = list(scan)
    assert len(rest) == 4_999
    assert {value for _, value in rest} == {"old"}


def test_closing_under_an_open_scan_gives_a_clean_error(table: Table) -> None:
    table.put_many((f"key-{n:05}", "x") for n in range(5_000))
    scan = table.items()
    next(scan)
    table.close()
    with pytest.raises((StoreError, TableClosedError)) as ended:
        list(scan)
    assert "not open" in str(ended.value)
    assert ended.value.hint
    scan.close()


def test_readers_meet_only_clean_errors_when_the_table_is_closed(table: Table) -> None:
    table.put_many((f"key-{n}", "x") for n in range(100))
    started = threading.Barrier(4)
    errors: list[LastwordError] = []

    def read(action: Callable[[], Any]) -> None:
        action()
        started.wait(WITHIN_S)
        try:
            while True:
                action()
        except LastwordError as error:
            errors.append(error)

    actions = (
        lambda: table["key-1"],
        lambda: list(table.items()),
        lambda: table.get_many(["key-1", "key-2"]),
    )
    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read, action) for action in actions]
        started.wait(WITHIN_S)
        table.close()
        for each in reading:
            each.result(WITHIN_S)
    assert len(errors) == 3
    assert all(isinstance(error, TableClosedError | StoreError) for error in errors)


def test_writers_are_answered_when_the_table_is_closed(table: Table) -> None:
    started = threading.Barrier(4)
    last: list[LastwordError] = []

    def write(thread: int) -> None:
        table.put(f"first-{thread}", "x")
        started.wait(WITHIN_S)
        try:
            while True:
                table.put(f"key-{thread}", "x")
        except LastwordError as error:
            last.append(error)

    with ThreadPoolExecutor(3) as pool:
        writing = [pool.submit(write, n) for n in range(3)]
        started.wait(WITHIN_S)
        table.close()
        for each in writing:
            each.result(WITHIN_S)
    assert table.state is TableState.STOPPED
    assert len(last) == 3


def test_no_reader_ever_sees_a_key_go_back(table: Table) -> None:
    keys = [f"key-{n}" for n in range(8)]
    seen_by: list[dict[str, Version]] = [{}, {}, {}]

    def see(reader: int, key: str, version: Version) -> None:
        before = seen_by[reader].get(key, version)
        assert version >= before, f"{key} went back from {before} to {version}"
        seen_by[reader][key] = version

    def get(n: int) -> None:
        entry = table.entry(keys[n % 8])
        if entry is not None:
            see(0, entry.key, entry.version)

    def get_many(_n: int) -> None:
        for key, entry in table.query.get_many(keys).value.items():
            see(1, key, entry.version)

    def scan(_n: int) -> None:
        for entry in table.query.scan():
            see(2, entry.key, entry.version)

    def write(n: int) -> None:
        key = keys[n % 8]
        version = table.put(key, str(n))
        entry = table.entry(key)
        assert entry is not None
        assert entry.version >= version

    def write_more(n: int) -> None:
        for outcome in table.put_many((key, str(n)) for key in keys):
            assert outcome.status == "ok"

    with table.watch() as watch, Background(get, get_many, scan, write, write_more):
        changes = [watch.take(WITHIN_S) for _ in range(300)]
    versions = [change.version for change in changes if change and change.version]
    assert len(set(versions)) == 300
    for partition in range(3):
        offsets = [version.offset for version in versions if version.partition == partition]
        assert offsets == sorted(offsets)
    assert all(seen_by)
