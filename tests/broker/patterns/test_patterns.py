"""The patterns, used by several processes at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from lastword.errors import ConfigError, ConflictError
from lastword.kafka.connection import Connection
from lastword.patterns import Cache, ConfigStore, MaterializedView, SessionStore
from lastword.records import Version
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.support.local_tables import pattern_workers
from tests.support.local_tables.pattern_workers import Limits
from tests.support.local_tables.tables import Tables
from tests.support.shifted_clock import ShiftedClock

pytestmark = pytest.mark.broker

Place = tuple[str, str, str]
PATIENT_S = 180.0
GENEROUS_S = 60.0


@pytest.fixture
def clock() -> ShiftedClock:
    """For less than an hour ahead: beyond that brokers refuse the timestamps."""
    return ShiftedClock()


@pytest.fixture
def place(connection: Connection, topic: str, tmp_path: Path) -> Place:
    """What another process needs to open the table, too."""
    return connection.bootstrap_servers, topic, str(tmp_path)


@pytest.fixture
def table(place: Place) -> Iterator[Table]:
    with pattern_workers.open_table(*place) as opened:
        yield opened


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def test_no_field_of_a_concurrent_writer_is_lost(
    place: Place, table: Table, processes: ProcessPoolExecutor
) -> None:
    others = [
        processes.submit(pattern_workers.add_fields, place, name, 10) for name in ("one", "two")
    ]
    view = MaterializedView(table)
    for number in range(10):
        view.apply("profile", lambda old, n=number: {**(old or {}), f"here-{n}": n})
    for other in others:
        other.result()

    def document() -> dict[str, int]:
        found: dict[str, int] = table.get("profile", consistency="linearizable")
        return found

    assert len(document()) == 30
    assert view.update("profile", {"one-0": None}) == {
        name: value for name, value in document().items() if name != "one-0"
    }
    view.delete("profile")
    assert view.get("profile", "gone") == "gone"


def test_a_value_is_computed_once_by_all_processes(
    place: Place, table: Table, processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    computed = tmp_path / "computed"
    computed.mkdir()
    others = [
        processes.submit(pattern_workers.compute_once, place, 5, str(computed)) for _ in range(2)
    ]
    expected = [f"value-{number}" for number in range(5)]
    assert [other.result() for other in others] == [expected, expected]
    assert sorted(path.name.split("-")[0] for path in computed.iterdir()) == list("01234")

    cache = Cache(table, ttl="1h")
    wait_until(lambda: cache.get("key-0") == "value-0", "the value to arrive here")
    assert cache.invalidate_prefix("key-") == 5
    assert cache.get_or_compute("key-0", lambda: "anew") == "anew"


def test_a_computation_that_fails_leaves_the_key_to_the_next(table: Table) -> None:
    cache = Cache(table, ttl="1h")

    def broken() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get_or_compute("a", broken)
    assert cache.get_or_compute("a", lambda: "yes") == "yes"
    cache.put("a", "other")
    assert cache.get_or_compute("a", broken) == "other"


def test_a_setting_reaches_every_process_and_can_be_rolled_back(
    place: Place, table: Table, processes: ProcessPoolExecutor
) -> None:
    heard: list[tuple[int, frozenset[str]]] = []
    with ConfigStore(table, Limits) as config:
        assert config.current == Limits(retries=3, greeting="hello")
        config.on_change(lambda now, names: heard.append((now.retries, names)))
        first = Version.parse(processes.submit(pattern_workers.set_retries, place, 5).result())
        wait_until(lambda: heard == [(5, frozenset({"retries"}))], "the change to be heard")
        assert config.current.retries == 5

        config.set("retries", 7, if_version=first)
        with pytest.raises(ConflictError):
            config.set("retries", 8, if_version=first)
        assert [change.value for change in config.history("retries")] == [5, 7]
        config.rollback("retries", first)
        wait_until(lambda: config.current.retries == 5, "the rollback to be followed")
        config.reset("retries")
        wait_until(lambda: config.current.retries == 3, "the default to be back")


def test_a_change_of_a_setting_is_heard_in_another_process(
    place: Place, table: Table, processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    following = tmp_path / "following"
    other = processes.submit(pattern_workers.hear_of_retries, place, str(following))
    wait_until(lambda: following.exists() or other.done(), "it to follow", timeout=PATIENT_S)
    began = time.monotonic()
    ConfigStore(table, Limits).set("retries", 9)
    retries, names, heard_at = other.result()
    assert (retries, names) == (9, ["retries"])
    assert heard_at - began < GENEROUS_S


def test_an_invalidation_reaches_the_cache_of_another_process(
    place: Place, table: Table, processes: ProcessPoolExecutor, tmp_path: Path
) -> None:
    cache, cached = Cache(table, ttl="1h"), tmp_path / "cached"
    cache.put("key", "computed here")
    other = processes.submit(pattern_workers.compute_when_invalidated, place, "key", str(cached))
    wait_until(lambda: cached.exists() or other.done(), "it to be cached", timeout=PATIENT_S)
    cache.invalidate("key")
    assert other.result() == "computed there"
    assert table.get("key", consistency="linearizable") == "computed there"


def test_a_cached_value_expires_and_is_computed_again(
    tables: Tables, topic: str, clock: ShiftedClock
) -> None:
    cache = Cache(tables.open(topic, writes="owned", application_id=topic, clock=clock), ttl="30m")
    assert cache.get_or_compute("a", lambda: "first") == "first"
    clock.set_back_s = -1500
    assert cache.get_or_compute("a", lambda: "second") == "first"
    clock.set_back_s = -2000
    assert cache.get("a") is None
    assert cache.get_or_compute("a", lambda: "second") == "second"


def test_a_session_ends_when_it_was_idle_for_too_long(
    tables: Tables, topic: str, clock: ShiftedClock
) -> None:
    table = tables.open(topic, writes="owned", application_id=topic, clock=clock)
    sessions = SessionStore(table, idle="20m")
    session = sessions.create({"user": "alice"})
    clock.set_back_s = -1000
    assert sessions.touch(session.id)
    clock.set_back_s = -2000  # too late for the session as it was created
    assert sessions.get(session.id) == session
    clock.set_back_s = -3000
    assert sessions.get(session.id) is None
    assert not sessions.touch(session.id)
    assert sessions.update(session.id, {"late": True}) is None


def test_a_setting_of_the_wrong_type_is_refused_or_ignored(table: Table) -> None:
    with ConfigStore(table, Limits) as config:
        with pytest.raises(ConfigError, match="retries cannot be set"):
            config.set("retries", "many")
        with pytest.raises(ConfigError, match="no setting 'retry'"):
            config.set("retry", 1)
        table.put("retries", "many")
        table.put("greeting", "good day")
        wait_until(lambda: config.current.greeting == "good day", "the good one to be followed")
        assert config.current.retries == 3
        with pytest.raises(ConfigError, match="has no version"):
            config.rollback("retries", Version(0, 10**9))


def test_a_session_is_shared_until_it_ends(
    place: Place, table: Table, processes: ProcessPoolExecutor
) -> None:
    sessions = SessionStore(table, idle="1h")
    session = sessions.create({"user": "alice"})
    assert len(session.id) >= 43
    others = [
        processes.submit(pattern_workers.note_in_session, place, session.id, name)
        for name in ("cart", "language")
    ]
    assert [other.result() for other in others] == [True, True]
    assert sessions.update(session.id, {"here": True}) is not None
    found = sessions.get(session.id)
    assert found is not None
    assert found.data == {"user": "alice", "cart": True, "language": True, "here": True}
    entry = table.entry(session.id)
    assert entry is not None
    assert entry.expires_at_ms is not None

    sessions.end(session.id)
    assert sessions.get(session.id) is None
    assert not sessions.touch(session.id)
    assert sessions.update(session.id, {"late": True}) is None
    assert sessions.get(session.id) is None
