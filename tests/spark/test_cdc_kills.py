"""A capture whose parts are killed while its database is written, and one that is idle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection as PostgresConnection

from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_kills import PARTS, killing_lab
from tests.support.captures.cdc_lab import WAIT_S, Lab, running_lab
from tests.support.captures.cdc_workload import KINDS
from tests.support.local_tables.tables import read_raw

pytestmark = pytest.mark.broker

# `make soak` asks for more.
KILLS = int(os.environ.get("LASTWORD_TEST_KILLS", "3"))
MANY_KILLS = 30
SEED = int(os.environ.get("LASTWORD_TEST_SEED", "1"))


@pytest.fixture(scope="module")
def lab(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(home, tmp_path_factory.mktemp("cdc")) as lab:
        yield lab


@pytest.fixture
def database(lab: Lab) -> Iterator[PostgresConnection[Any]]:
    with lab.postgres.connect() as database:
        yield database


def test_an_idle_table_beside_a_busy_one_does_not_hold_back_the_log(
    lab: Lab, database: PostgresConnection[Any]
) -> None:
    database.execute("CREATE TABLE idle (id int PRIMARY KEY); INSERT INTO idle VALUES (1)")
    database.execute("CREATE TABLE busy (id int, filling text)")
    with lab.captured("idle") as capture:
        mirrored = partial(read_raw, lab.connection, capture.table.topic)
        wait_until(mirrored, "the snapshot of the idle table", timeout=WAIT_S)
        before = database.execute("SELECT pg_current_wal_lsn()").fetchone()
        assert before is not None
        database.execute(
            "INSERT INTO busy SELECT i, repeat('x', 500) FROM generate_series(1, 9000) i"
        )

        def released() -> bool:
            """Both positions, of what was read and of what is kept, are behind the busy table's."""
            database.execute("SELECT pg_log_standby_snapshot()")  # as the server does now and then
            found = database.execute(
                "SELECT confirmed_flush_lsn > %(at)s AND restart_lsn > %(at)s "
                "AND pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) < 1000000 "
                "FROM pg_replication_slots WHERE slot_name = %(slot)s",
                {"at": before[0], "slot": capture.table.slot},
            ).fetchone()
            return found is not None and bool(found[0])

        wait_until(released, "the database lets go of its log", timeout=WAIT_S, every=0.5)
        assert len(mirrored()) == 1, "nothing of the other table was captured"


def test_the_mirror_of_a_random_workload_is_exact_whatever_is_killed(lab: Lab) -> None:
    """Nothing comes back and nothing goes backwards meanwhile, for any reader of the table."""
    print(f"the seed is {SEED}")  # noqa: T201 - shown with a failure
    with killing_lab(lab, "chaos", SEED) as killing:
        for victims in killing.rounds(KILLS):
            killing.kill(victims)
        killing.finish()
        rows, wanted = killing.reader.rows, killing.workload.table.selected()
        assert repr(sorted(rows.items())) == repr(sorted(wanted.items()))
        assert killing.kills.total() == KILLS
        if KILLS >= MANY_KILLS:
            assert {kind for kind, times in killing.workload.kinds.items() if times} == KINDS
            assert killing.kills.keys() == {*PARTS, "broker"}
