"""Positions of every database that Debezium captures, from the fields its connector writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastword.cdc.change import RowChange, SourcePosition
from lastword.cdc.envelope import ChangeCodec

# The members of ``source`` as the documentation of Debezium 3.6 shows them; not recorded.
MYSQL = {
    "connector": "mysql",
    "db": "inventory",
    "table": "customers",
    "server_id": 223344,
    "gtid": None,
    "row": 0,
    "thread": 7,
    "query": None,
}
SQLSERVER = {
    "connector": "sqlserver",
    "db": "testDB",
    "schema": "dbo",
    "table": "customers",
    "event_serial_no": 1,
}
ORACLE = {
    "connector": "oracle",
    "db": "ORCLPDB1",
    "schema": "DEBEZIUM",
    "table": "CUSTOMERS",
    "lcr_position": None,
    "rs_id": "001234.00012345.0124",
    "ssn": 1,
    "redo_thread": 1,
    "user_name": "user",
    "row_id": "AAASgjAAMAAAACnAAA",
    "commit_ts_ms": 1520085154000,
    "start_scn": "2122185",
    "start_ts_ms": 1520085154000,
}
ONE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "7c1de3f2-1b2a-11ee-9a1c-0242ac110002"


def change(source: dict[str, Any], **fields: Any) -> RowChange:
    times = {"ts_ms": 1, "ts_us": 1000, "ts_ns": 1000000}
    shared = {"version": "3.6.2.Final", "name": "server1", "snapshot": "false", "sequence": None}
    envelope = {
        "before": None,
        "after": {"id": 1},
        "source": {**shared, **times, **source, **fields},
        "transaction": None,
        "op": "c",
        **times,
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


def test_a_snapshot_of_mysql_names_no_server() -> None:
    row = {"file": "mysql-bin.000003", "pos": 154, "server_id": 0, "thread": None}
    assert position(MYSQL, **row, snapshot="first").log == ""


@pytest.mark.parametrize("format", ["{}:{}", "{}:tag:{}"])
def test_transactions_of_mysql_with_gtids_are_counted_whichever_server_is_read(format: str) -> None:
    """After a fail-over the files and places are those of another server."""
    before = position(MYSQL, gtid=format.format(ONE, 23), file="binlog.000900", pos=9000)
    after = position(MYSQL, gtid=format.format(ONE, 24), file="binlog.000002", pos=4)
    assert before < after
    assert before.log == after.log
    assert position(MYSQL, gtid=format.format(OTHER, 1), file="binlog.000002", pos=4).log != (
        after.log
    )


def test_changes_of_one_gtid_share_its_position() -> None:
    first = position(MYSQL, gtid=f"{ONE}:23", file="binlog.000003", pos=154)
    assert first == position(MYSQL, gtid=f"{ONE}:23", file="binlog.000003", pos=484)


def test_mariadb_counts_transactions_for_each_domain_and_server() -> None:
    mariadb = {**MYSQL, "connector": "mariadb"}
    before, after = (position(mariadb, gtid=gtid) for gtid in ("0-1-99", "0-1-100"))
    assert before < after
    assert (before.log, after.log) == ("0-1", "0-1")


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


def test_a_changed_key_of_sqlserver_is_two_events_at_one_position() -> None:
    at = {"commit_lsn": "00000027:00000db0:0007", "change_lsn": "00000027:00000db0:0005"}
    assert position(SQLSERVER, **at) == position(SQLSERVER, **at, event_serial_no=2)


def test_only_logminer_tells_the_commits_of_oracle() -> None:
    """By XStream, changes come in the order of commits that nobody tells, not of their SCNs."""
    assert change(ORACLE, scn="2122190", lcr_position="0000000000", txId="7.1.2").position is None


@pytest.mark.parametrize(
    ("source", "fields", "transaction"),
    [
        (MYSQL, {"file": "a.1", "pos": 1, "gtid": f"{ONE}:23"}, f"{ONE}:23"),
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
