"""What is found out about a real PostgreSQL before anything is captured of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection as PostgresConnection

from lastword.cdc.postgres.check import Finding, check
from lastword.cdc.postgres.database import PostgresDatabase
from lastword.cdc.postgres.names import SourceTable
from lastword.errors import CaptureError
from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_lab import WAIT_S
from tests.support.captures.postgres import Postgres, running_postgres

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[PostgresConnection[Any]]:
    with postgres.connect() as database:
        yield database


def test_each_obstacle_is_found_and_repaired_by_the_sql_of_the_finding(
    postgres: Postgres, database: PostgresConnection[Any]
) -> None:
    database.execute("CREATE ROLE reader LOGIN; CREATE TABLE odd (id int NOT NULL, n numeric[])")
    database.execute("ALTER TABLE odd REPLICA IDENTITY NOTHING")
    table = SourceTable.parse("odd")
    reader = PostgresDatabase(postgres.url.replace("postgres@", "reader@"))
    with reader.connect() as session:
        found = check(session, table)
        assert [each.what for each in found if each.severity == "error"] == [
            "the role reader may not replicate",
            "the role reader may not read public.odd",
            "public.odd has no primary key",
            "the replica identity of public.odd is NOTHING",
            "there is no publication lastword_odd with public.odd, and only its owner can make one",
        ]
        for finding in found:
            for statement in finding.repair.replace("(...)", "(id)").split(";")[:-1]:
                database.execute(statement.encode())
        # Settings of the server take effect a moment after the statement that reloads them.
        wait_until(lambda: not check(session, table), "all is repaired", timeout=WAIT_S)
        absent = check(session, SourceTable.parse("absent"))[0]
        assert absent.what == "there is no table public.absent"
        assert "the schema public has " in absent.repair
        assert " odd" in absent.repair
    database.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
    database.execute("SELECT pg_reload_conf()")
    show = "SHOW max_slot_wal_keep_size"  # once this session has it, every new one has
    wait_until(lambda: database.execute(show).fetchone() == ("-1",), "a reload", timeout=WAIT_S)


def test_arrays_whose_large_values_come_as_null_are_named(
    postgres: Postgres, database: PostgresConnection[Any]
) -> None:
    database.execute(
        "CREATE TABLE lists (id int PRIMARY KEY, nums numeric(6,2)[], times timestamp(3)[], "
        "days date[], ints int[], names varchar(9)[], ids uuid[], day date)"
    )
    with PostgresDatabase(postgres.url).connect() as session:
        (found,) = [
            each
            for each in check(session, SourceTable.parse("lists"))
            if "null" in each.consequence
        ]
    assert found.what.endswith(
        ": nums (numeric[]), times (timestamp(3) without time zone[]), days (date[])"
    )


def test_a_log_without_rows_is_found_and_repaired(postgres: Postgres) -> None:
    def restarted_after(statement: str) -> list[Finding]:
        with postgres.connect() as database:
            database.execute(statement.encode())
        postgres.stop()
        postgres.start()
        with PostgresDatabase(postgres.url).connect() as session:
            found = check(session, SourceTable.parse("absent"))
        return [each for each in found if "wal_level" in each.what]

    (finding,) = restarted_after("ALTER SYSTEM SET wal_level = 'replica'")
    assert (finding.severity, finding.what) == ("error", "wal_level is replica")
    assert "restart the server" in finding.repair
    assert restarted_after(finding.repair) == []


def test_a_capture_may_have_the_last_slot_of_the_server(
    postgres: Postgres, database: PostgresConnection[Any]
) -> None:
    """A second start of it finds all slots taken, one of them by itself."""
    table = SourceTable.parse("last_slot")
    free = "SELECT setting::int - (SELECT count(*)::int FROM pg_replication_slots) FROM pg_settings"
    (count,) = database.execute(f"{free} WHERE name = 'max_replication_slots'").fetchone() or (0,)
    names = [table.slot, *(f"taken_{i}" for i in range(count - 1))]
    for name in names:
        database.execute("SELECT pg_create_physical_replication_slot(%s)", (name,))
    with PostgresDatabase(postgres.url).connect() as session:
        assert not any("replication_slots" in each.what for each in check(session, table))
        (found,) = [
            each
            for each in check(session, SourceTable.parse("another"))
            if "replication_slots" in each.what
        ]
        assert found.consequence == "there is none left for this capture"
    for name in names:
        database.execute("SELECT pg_drop_replication_slot(%s)", (name,))


def test_a_database_that_refuses_is_named_without_its_password(postgres: Postgres) -> None:
    url = postgres.url.replace("postgres@", "nobody:sesame@")
    with (
        pytest.raises(CaptureError, match="does not let us in") as raised,
        PostgresDatabase(url).connect(),
    ):
        pass
    assert "sesame" not in f"{raised.value} {raised.value.hint}"
    assert str(raised.value).endswith('FATAL:  role "nobody" does not exist')
    with (
        pytest.raises(CaptureError, match="does not answer: Connection refused") as raised,
        PostgresDatabase("postgresql://nobody:sesame@127.0.0.1:1/shop").connect(),
    ):
        pass
    assert "sesame" not in f"{raised.value} {raised.value.hint}"
