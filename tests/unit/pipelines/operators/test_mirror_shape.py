"""What a table shows of a mirror: filtered, with other columns, under another key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lastword.cdc.change import UNAVAILABLE, Row
from lastword.codecs.row import RowCodec
from lastword.pipelines.operators.mirror_marks import SOURCE_HEADER
from lastword.pipelines.operators.mirror_shape import Shape
from lastword.pipelines.operators.owned_keys import OWNER_HEADER, OwnedKeys
from tests.support.captures.mirror_log import Log, mirrored, rows
from tests.support.java_peers.streams_model import Event
from tests.support.on_spark.operator_run import OperatorRun, last_values


def shown(run: OperatorRun) -> dict[Any, Row]:
    return {key: RowCodec().decode(row) for key, row in last_values(run.told).items()}


def test_a_row_that_stops_matching_is_deleted() -> None:
    log = Log()
    shape = Shape().filtered(lambda row: row["n"] > 1).mapped(lambda row: {"n": row["n"]})
    given = [log.event("c", 1, {"id": 1, "n": 1}), log.event("u", 1, {"id": 1, "n": 2})]
    run = mirrored(given, shape)
    assert shown(run) == {b"1": {"n": 2}}
    run.process([log.event("u", 1, {"id": 1, "n": 0})])
    assert shown(run) == {}
    assert run.told[-1] == (b"1", None)


def test_a_filter_sees_columns_that_were_not_sent_and_are_not_shown() -> None:
    log = Log()
    shape = Shape().filtered(lambda row: row["big"] == "x").mapped(lambda row: {"n": row["n"]})
    run = mirrored([log.event("c", 1, {"n": 1, "big": "x"})], shape)
    run.process([log.event("u", 1, {"n": 2, "big": UNAVAILABLE})])
    assert shown(run) == {b"1": {"n": 2}}


def test_every_record_of_a_filtered_table_names_its_transaction() -> None:
    log = Log()
    shape = Shape().filtered(lambda row: row["n"] > 1)
    given = [log.event("c", 1, {"id": 1, "n": 2}), log.event("u", 1, {"id": 1, "n": 0})]
    run = mirrored(given, shape)
    assert [value is None for _, value in run.told] == [False, True]
    assert run.told_headers == [{SOURCE_HEADER: b"0:100/100:7"}, {SOURCE_HEADER: b"0:101/101:7"}]


def test_a_row_on_which_a_function_fails_is_quarantined_and_the_others_go_on() -> None:
    log = Log()
    shape = Shape().mapped(lambda row: {"n": 1 // row["n"]})
    run = mirrored([log.event("c", 1, {"n": 0}), log.event("c", 2, {"n": 1})], shape)
    assert shown(run) == {b"2": {"n": 1}}
    assert run.bad == ["ZeroDivisionError: integer division or modulo by zero"]


def test_a_change_without_a_key_is_quarantined() -> None:
    run = mirrored([Log().event("c", None, {"n": 1})])
    assert rows(run) == {}
    assert len(run.bad) == 1


def run_by_name(given: Sequence[Event]) -> OperatorRun:
    """The table under another column than the primary key, through both operators."""
    first = mirrored(given, Shape(key=lambda row: row["name"]))
    second = OperatorRun(OwnedKeys(), every_update=True)
    second.process([Event(key, value, 1) for key, value in first.told])
    return second


def by_name(given: Sequence[Event]) -> dict[str, Row]:
    return rows(run_by_name(given))


def test_another_key_follows_the_row_when_it_changes() -> None:
    log = Log()
    given = [log.event("c", 1, {"id": 1, "name": "a"}), log.event("u", 1, {"id": 1, "name": "b"})]
    assert by_name(given) == {"b": {"id": 1, "name": "b"}}
    assert by_name([*given, log.event("d", 1)]) == {}


def test_every_record_under_another_key_names_its_owner_and_its_transaction() -> None:
    log = Log()
    given = [log.event("c", 1, {"id": 1, "name": "a"}), log.event("d", 1)]
    owner = (OWNER_HEADER, b"1")
    assert [(value is None, headers) for _, value, _, headers in run_by_name(given).changelog] == [
        (False, (owner, (SOURCE_HEADER, b"0:100/100:7"))),
        (True, (owner, (SOURCE_HEADER, b"0:101/101:7"))),
    ]


def test_two_rows_may_exchange_their_keys() -> None:
    log = Log()
    given = [
        log.event("c", 1, {"id": 1, "name": "a"}),
        log.event("c", 2, {"id": 2, "name": "b"}),
        log.event("u", 1, {"id": 1, "name": "b"}),
        log.event("u", 2, {"id": 2, "name": "a"}),
    ]
    assert by_name(given) == {"a": {"id": 2, "name": "a"}, "b": {"id": 1, "name": "b"}}
