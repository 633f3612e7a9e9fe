"""Positions of every database that Debezium captures, from the fields its connector writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.cdc.change import RowChange, SourcePosition
from lastword.cdc.envelope import ChangeCodec

# The members of ``source`` that each connector writes; made by hand, not recorded.
MYSQL = {"connector": "mysql", "db": "inventory", "table": "customers", "server_id": 223344}
SQLSERVER = {"connector": "sqlserver", "db": "testDB", "schema": "dbo", "table": "customers"}
ORACLE = {"connector": "oracle", "db": "ORCLPDB1", "schema": "DEBEZIUM", "table": "CUSTOMERS"}


def change(source: dict[str, Any], **fields: Any) -> RowChange:
    shared = {"version": "3.6.2.Final", "name": "server1", "ts_ms": 1, "snapshot": "false"}
    envelope = {
        "before": None,
        "after": {"id": 1},
        "source": {**shared, **source, **fields},
        "op": "c",
        "ts_ms": 1,
    }
    return ChangeCodec().decode(json.dumps(envelope).encode())


def position(source: dict[str, Any], **fields: Any) -> SourcePosition:
    found = change(source, **fields).position
    assert found is not None
    return found


def test_mysql_counts_files_and_places_in_them() -> None:
    in_order = [
        position(MYSQL, file="mysql-bin.000003", pos=154, row=0),
        position(MYSQL, file="mysql-bin.000003", pos=484, row=0),
        position(MYSQL, file="mysql-bin.000004", pos=4, row=0),
        position(MYSQL, file="mysql-bin.1000000", pos=4, row=0),
    ]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) == len(in_order)


def test_rows_of_one_event_of_mysql_share_its_position() -> None:
    first = position(MYSQL, file="mysql-bin.000003", pos=154, row=0)
    assert first == position(MYSQL, file="mysql-bin.000003", pos=154, row=7)


def test_another_server_of_mysql_has_another_log() -> None:
    one = position(MYSQL, file="binlog.000003", pos=1)
    other = position({**MYSQL, "server_id": 5}, file="binlog.000003", pos=1)
    assert one.log != other.log


def test_sqlserver_orders_commits_then_changes() -> None:
    in_order = [
        position(SQLSERVER, commit_lsn="00000027:00000758:0005", change_lsn=None),
        position(
            SQLSERVER, commit_lsn="00000027:00000758:0005", change_lsn="00000027:00000758:0009"
        ),
        position(
            SQLSERVER, commit_lsn="00000027:00000ac0:0002", change_lsn="00000027:00000758:0003"
        ),
        position(
            SQLSERVER, commit_lsn="0000002a:00000001:0001", change_lsn="0000002a:00000001:0000"
        ),
    ]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) == len(in_order)


def test_changes_that_oracle_commits_together_are_in_no_order() -> None:
    first = position(ORACLE, scn="2122190", commit_scn="2122200", txId="6.28.807")
    assert first == position(ORACLE, scn="2122185", commit_scn="2122200", txId="7.1.2")
    assert first < position(ORACLE, scn="2122195", commit_scn="2122201", txId="7.1.3")
    assert position(ORACLE, scn="2122100", commit_scn=None, snapshot="true") < first


@pytest.mark.parametrize(
    ("source", "fields", "transaction"),
    [
        (MYSQL, {"file": "a.1", "pos": 1, "gtid": "3e11fa47:23"}, "3e11fa47:23"),
        (MYSQL, {"file": "a.1", "pos": 1, "gtid": None}, None),
        (SQLSERVER, {"commit_lsn": "00000027:00000758:0005"}, "00000027:00000758:0005"),
        (ORACLE, {"commit_scn": "7", "txId": "6.28.807"}, "6.28.807"),
    ],
)
def test_every_database_names_its_transactions_in_its_own_way(
    source: dict[str, Any], fields: dict[str, Any], transaction: str | None
) -> None:
    assert change(source, **fields).transaction == transaction


@pytest.mark.parametrize(
    ("source", "fields"),
    [({"connector": "db2"}, {"commit_lsn": "00000027:00000758:0005"}), (MYSQL, {}), (ORACLE, {})],
)
def test_a_connector_that_is_not_known_or_says_nothing_has_no_positions(
    source: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert change(source, **fields).position is None


def test_a_position_that_cannot_be_read_makes_the_event_a_bad_one() -> None:
    with pytest.raises(Exception, match="not a change event"):
        change(SQLSERVER, commit_lsn="NULL")
