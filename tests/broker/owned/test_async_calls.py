"""``table.aio``: the calls of a table as coroutines, on a real broker."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lastword.errors import ConfigError, ConflictError, LastwordError, TableClosedError
from lastword.kafka.admin import Admin
from lastword.records import ABSENT, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.table.writing.async_calls import AsyncCalls
from lastword.table.writing.conditions import TOMBSTONE
from lastword.topics.creation import create_topic
from tests.support.coroutines import run_coroutine
from tests.support.local_tables.tables import Tables

pytestmark = pytest.mark.broker

KEYS = ["a", "b", "c"]
STEPS = 120

Call = Callable[[Any], Any]


@pytest.fixture
def owned(tables: Tables, topic: str) -> Table:
    """A table whose every write is decided by the owner of its partition."""
    return tables.open(topic, writes="owned", application_id=topic)


def random_call(dice: random.Random, versions: dict[str, Any]) -> Call:
    key, other, number = dice.choice(KEYS), dice.choice(KEYS), dice.randrange(9)
    value = dice.choice([number, {"n": number}, [number], "text", None])
    calls: list[Call] = [
        lambda t: t.get(key, "none"),
        lambda t: t.entry(key),
        lambda t: t.get(key, consistency="linearizable"),
        lambda t: t.entry(key, consistency="linearizable"),
        lambda t: t.get(key, consistency="maybe"),
        lambda t: t.put(key, value),
        lambda t: t.put(key, value, ttl="1h"),
        lambda t: t.put(key, value, ttl="soon"),
        lambda t: t.put(key, object()),
        lambda t: t.put("", 1),
        lambda t: t.put(key, value, if_version=versions.get(key, ABSENT)),
        lambda t: t.delete(key),
        lambda t: t.delete(key, if_version=versions.get(other, ABSENT)),
        lambda t: t.put_many({key: value, other: TOMBSTONE}),
        lambda t: t.update(key, lambda old: [old, 1] if old != 1 else TOMBSTONE, default=0),
        lambda t: t.increment(key, number),
        lambda t: t.append(key, value),
        lambda t: t.merge(key, {"m": number}),
        lambda t: t.put_if_greater(key, number),
        lambda t: t.transact({key: value}, if_version={key: versions.get(key, ABSENT)}),
        lambda t: t.transact({key: TOMBSTONE, other: 2}, if_version={"a": ABSENT}),
    ]
    return dice.choice(calls)


def plain(answer: Any) -> Any:
    """An answer without offsets and times, which differ between two topics."""
    match answer:
        case LastwordError():
            return type(answer).__name__, answer.hint, plain(getattr(answer, "current", None))
        case Version(partition=partition):
            return "version", partition
        case Entry(key=key, value=value, expires_at_ms=expires_at_ms):
            return key, value, plain(answer.version), expires_at_ms is None
        case dict():
            return {key: plain(value) for key, value in answer.items()}
        case list():
            return [plain(each) for each in answer]
    return getattr(answer, "status", answer)


def done(table: Table, call: Call) -> Any:
    try:
        return plain(call(table))
    except LastwordError as error:
        return plain(error)


async def awaited(calls: AsyncCalls, call: Call) -> Any:
    try:
        return plain(await call(calls))
    except LastwordError as error:
        return plain(error)


def versions_of(table: Table) -> dict[str, Any]:
    return {key: found.version for key in KEYS if (found := table.entry(key)) is not None}


def test_coroutines_get_the_same_answers_as_threads(
    owned: Table, tables: Tables, admin: Admin, topic: str
) -> None:
    create_topic(admin, f"{topic}-2", partitions=3)
    other = tables.open(f"{topic}-2", writes="owned", application_id=f"{topic}-2")

    async def compare() -> None:
        dice = random.Random(3)
        for _ in range(STEPS):
            seed = dice.random()
            here = random_call(random.Random(seed), versions_of(other))
            there = random_call(random.Random(seed), versions_of(owned))
            assert await awaited(owned.aio, there) == done(other, here)

    run_coroutine(compare())
    assert {key: owned.get(key) for key in KEYS} == {key: other.get(key) for key in KEYS}


def test_one_of_many_coroutines_wins_a_compare_and_set(owned: Table) -> None:
    async def race() -> list[Version | BaseException]:
        start = await owned.aio.put("a", "start")
        return await asyncio.gather(
            *(owned.aio.put("a", number, if_version=start) for number in range(50)),
            return_exceptions=True,
        )

    results = run_coroutine(race())
    (winner,) = [number for number, each in enumerate(results) if isinstance(each, Version)]
    lost = [each for each in results if isinstance(each, ConflictError)]
    assert len(lost) == 49
    assert {each.current.value for each in lost if each.current} == {winner}
    assert owned.get("a") == winner


def test_no_increment_of_several_event_loops_is_lost(owned: Table) -> None:
    async def count() -> None:
        await asyncio.gather(*(owned.aio.increment("n") for _ in range(100)))

    threads = [threading.Thread(target=asyncio.run, args=(count(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owned.get("n") == 300


def test_a_read_waits_for_the_writes_before_it_and_the_loop_runs_on(owned: Table) -> None:
    owned.put("a", 1)
    assert owned.get("a") == 1

    async def read() -> tuple[bool, Any]:
        with owned._lifecycle.parts.replicas.one_moment():  # the copy here is held back
            await owned.aio.put("a", 2)
            reading = asyncio.create_task(owned.aio.get("a"))
            await owned.aio.increment("n")
            early = reading.done()
        return early, await reading

    assert run_coroutine(read()) == (False, 2)


def test_a_cancelled_call_leaves_the_others_alone(owned: Table) -> None:
    async def cancel() -> Entry:
        asked = [asyncio.create_task(owned.aio.increment("n")) for _ in range(10)]
        asyncio.get_running_loop().call_soon(asked[3].cancel)  # after it has asked
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(ended[3], asyncio.CancelledError)
        return await owned.aio.increment("n", 100)

    last = run_coroutine(cancel())
    assert last.value in (109, 110)  # the cancelled one may have been applied


def test_a_table_without_owners_writes_on_a_thread(tables: Tables, topic: str) -> None:
    direct = tables.open(topic)

    async def write() -> Any:
        await direct.aio.put("a", 1)
        await direct.aio.put("b", 2)
        await direct.aio.delete("a")
        return await direct.aio.get("a", "gone"), await direct.aio.get("b")

    assert run_coroutine(write()) == ("gone", 2)
    refused: list[Callable[[], Awaitable[Any]]] = [
        lambda: direct.aio.increment("a"),
        lambda: direct.aio.get("a", consistency="linearizable"),
        lambda: direct.aio.transact({"a": 1}),
    ]
    for call in refused:
        with pytest.raises(ConfigError) as error:
            run_coroutine(_await(call))
        assert "writes='owned'" in (error.value.hint or "")


async def _await(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def test_plain_puts_of_a_conditional_table_go_straight_to_kafka(tables: Tables, topic: str) -> None:
    table = tables.open(topic, writes="conditional", application_id=topic)
    foreign = table.metrics.counter("foreign_records_total")

    async def write() -> Any:
        version = await table.aio.put("a", 1)
        await table.aio.put("a", 2, if_version=version)
        return await table.aio.get("a")

    assert run_coroutine(write()) == 2
    assert foreign.value == 0


def test_a_closed_table_refuses(owned: Table) -> None:
    calls = owned.aio
    owned.close()
    with pytest.raises(TableClosedError):
        run_coroutine(_await(lambda: calls.put("a", 1)))
    with pytest.raises(TableClosedError):
        run_coroutine(_await(lambda: calls.get("a")))
