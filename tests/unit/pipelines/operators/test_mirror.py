"""The mirror of a database table, fed with what the real connector wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cdc.change import UNAVAILABLE, Row, Snapshot, SourcePosition
from lastword.cdc.envelope import ChangeCodec
from lastword.errors import ConfigError, DecodeError
from lastword.pipelines import Pipeline
from lastword.pipelines.operators.mirror import key_of
from lastword.pipelines.operators.mirror_marks import SOURCE_HEADER
from tests.support.captures.mirror_log import Log, mirror, mirrored, rows
from tests.support.captures.recorded_changes import Recorded, recorded
from tests.support.java_peers.streams_model import Event

ORDERS = recorded("orders")
NOTE = "c4ca4238a0b923820dcc509a6f75849b" * 2


def events(records: Sequence[Recorded]) -> list[Event]:
    decode = ChangeCodec().decode
    return [Event(each.key, decode(each.value), each.payload["ts_ms"]) for each in records]


def up_to(offset: int) -> list[Event]:
    return events([each for at, each in ORDERS.items() if at <= offset])


def test_a_snapshot_and_the_changes_after_it_make_the_table() -> None:
    assert {key: row["status"] for key, row in rows(mirrored(up_to(3))).items()} == {
        "1": "new",
        "2": "new",
        "3": "new",
    }
    assert rows(mirrored(up_to(15))) == {
        "30": {"id": 30, "status": "q", "note": "b", "qty": 7},
        "31": {"id": 31, "status": "c", "note": "d"},
    }


def test_a_large_value_that_was_not_sent_is_taken_from_the_row_before() -> None:
    assert rows(mirrored(up_to(5)))["1"] == {"id": 1, "status": "paid", "note": NOTE}


@pytest.mark.parametrize("cut", [0, 5], ids=["one batch", "cut between delete and insert"])
def test_a_changed_primary_key_takes_the_large_value_along(cut: int) -> None:
    run = mirror()
    run.in_batches(up_to(7), [cut], lose_stores=True)
    table = rows(run)
    assert "2" not in table
    assert table["10"]["note"].startswith("c81e728d9d4c2f636f067f89cc14862c")


def test_a_large_value_that_is_unknown_is_omitted() -> None:
    log = Log()
    run = mirrored([log.event("u", 1, {"id": 1, "note": UNAVAILABLE})])
    assert rows(run) == {"1": {"id": 1}}


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ({"id": 1, "n": 2, "memo": UNAVAILABLE}, "long"),
        ({"id": 1, "memo": UNAVAILABLE, "n": 2}, None),  # dropped, and another one added
        ({"id": 1, "m": 2, "memo": UNAVAILABLE}, None),  # two new names: which is which?
    ],
    ids=["renamed", "elsewhere", "unclear"],
)
def test_a_renamed_column_keeps_the_large_value_that_was_not_sent(
    row: Row, note: str | None
) -> None:
    log = Log()
    first = log.event("c", 1, {"id": 1, "n": 1, "note": "long"})
    run = mirrored([first, log.event("u", 1, row)])
    assert rows(run)["1"].get("memo") == note


def test_a_delete_is_a_tombstone_unless_the_key_is_absent() -> None:
    log = Log()
    run = mirrored([log.event("c", 1, {"id": 1}), log.event("d", 1), log.event("d", 2)])
    assert [(key, value) for key, value, *_ in run.changelog] == [(b"1", None)]


def test_truncate_deletes_every_key() -> None:
    run = mirror()
    run.in_batches(up_to(12), [4])
    assert rows(run) == {}
    assert {key for key, value, *_ in run.changelog if value is None} >= {b"1", b"10"}


def test_a_late_duplicate_is_dropped_and_counted() -> None:
    log = Log()
    first = [log.event("c", 1, {"id": 1, "n": 1}), log.event("u", 1, {"id": 1, "n": 2})]
    gone = log.event("d", 1)
    run = mirrored([*first, gone, *first, gone])
    assert rows(run) == {}
    assert run.tally.duplicates == 2  # the last one is at the position where the mirror stands
    assert len(run.changelog) == 1


def test_a_transaction_that_wrote_before_another_one_committed_is_not_late() -> None:
    log = Log()
    given = [
        log.event("c", 1, {"id": 1}, at=SourcePosition(10, 150)),
        log.event("c", 2, {"id": 2}, at=SourcePosition(160, 100)),
    ]
    assert rows(mirrored(given)).keys() == {"1", "2"}


def test_the_first_transaction_after_a_snapshot_may_have_begun_before_it() -> None:
    log = Log()
    given = [*log.snapshot(500, 1), log.event("u", 1, {"id": 1}, at=SourcePosition(None, 450))]
    assert rows(mirrored(given)) == {"1": {"id": 1}}


def test_rows_of_one_statement_share_a_position_and_all_of_them_count() -> None:
    assert rows(mirrored(up_to(14))).keys() == {"30", "31"}


@pytest.mark.parametrize("cut", range(6))
def test_a_new_snapshot_sweeps_what_it_does_not_find(cut: int) -> None:
    log = Log()
    run = mirror()
    again = log.snapshot(900, 2, 3)
    run.in_batches([*log.snapshot(50, 1, 2), log.event("c", 4, {"id": 4}), *again], [cut])
    assert rows(run) == {"2": {"id": 2, "at": 900}, "3": {"id": 3, "at": 900}}


def test_a_snapshot_that_was_broken_off_leaves_no_ghosts() -> None:
    log = Log()
    broken_off = log.snapshot(50, 1, 2, 3)[:2]
    run = mirrored([*broken_off, *log.snapshot(60, 2, 3)])
    assert rows(run).keys() == {"2", "3"}


def test_nothing_is_missing_while_a_new_snapshot_is_read() -> None:
    log = Log()
    run = mirrored([*log.snapshot(50, 1, 2), *log.snapshot(900, 1, 2)[:1]])
    assert rows(run).keys() == {"1", "2"}


def test_changes_after_a_snapshot_without_a_marked_end_sweep_as_well() -> None:
    log = Log()
    unmarked = log.snapshot(900, 2, 9)[:1]
    next_one = log.event("c", 5, {"id": 5}, at=SourcePosition(950, 960))
    run = mirrored([*log.snapshot(50, 1, 2), *unmarked, next_one])
    assert rows(run) == {"2": {"id": 2, "at": 900}, "5": {"id": 5}}
    headers = {key: dict(headers) for key, _, _, headers in run.changelog}
    assert headers[b"1"][SOURCE_HEADER] == b"2:950/960:7", "swept by the change that came next"
    assert run.tally.duplicates == 0


@pytest.mark.parametrize("cut", range(4))
def test_an_announced_snapshot_that_finds_no_row_ends_with_the_next_change(cut: int) -> None:
    log = Log()
    announced = log.event("t", None, at=SourcePosition(None, 900), snapshot=Snapshot.ROW)
    run = mirror()
    run.in_batches([*log.snapshot(50, 1, 2), announced], [cut])
    assert rows(run).keys() == {"1", "2"}, "nothing is missing before the snapshot has ended"
    run.process([log.event("c", 5, {"id": 5}, at=SourcePosition(None, 910))])
    assert rows(run) == {"5": {"id": 5}}
    assert run.tally.duplicates == 0


def test_an_announced_snapshot_of_an_empty_table_sweeps_every_row() -> None:
    log = Log()
    announced = log.event("t", None, at=SourcePosition(None, 900), snapshot=Snapshot.LAST)
    run = mirrored([*log.snapshot(50, 1, 2), announced])
    assert rows(run) == {}
    run.process([*log.snapshot(910, 3), log.event("c", 5, {"id": 5}, at=SourcePosition(920, 930))])
    assert rows(run).keys() == {"3", "5"}


def test_an_announced_snapshot_keeps_what_it_finds() -> None:
    log = Log()
    announced = log.event("t", None, at=SourcePosition(None, 900), snapshot=Snapshot.ROW)
    run = mirror(every_update=True)
    run.process([*log.snapshot(50, 1, 2), announced, *log.snapshot(900, 2, 3)])
    assert rows(run).keys() == {"2", "3"}
    assert [key for key, value, *_ in run.changelog if value is None] == [b"1"]


def test_a_change_that_comes_again_does_not_end_a_snapshot() -> None:
    log = Log()
    first, again = log.snapshot(50, 1, 2), log.snapshot(900, 1, 2)
    late = log.event("u", 1, {"id": 1, "at": 60}, at=SourcePosition(60, 60))
    run = mirror(every_update=True)
    run.process([*first, again[0], late, again[1]])
    assert rows(run) == {"1": {"id": 1, "at": 900}, "2": {"id": 2, "at": 900}}
    assert [value for _, value, *_ in run.changelog if value is None] == []
    assert run.tally.duplicates == 1


def test_a_server_that_takes_over_numbers_its_log_anew() -> None:
    log = Log()
    run = mirrored(
        [
            log.event("c", 1, {"id": 1, "n": 1}, at=SourcePosition(900, 900, "1")),
            log.event("u", 1, {"id": 1, "n": 2}, at=SourcePosition(5, 5, "2")),
            log.event("u", 1, {"id": 1, "n": 0}, at=SourcePosition(4, 4, "2")),
        ]
    )
    assert rows(run) == {"1": {"id": 1, "n": 2}}
    assert run.tally.duplicates == 1


def test_positions_of_any_size_are_remembered() -> None:
    log = Log()
    wide = SourcePosition(1 << 79, 1 << 79)
    run = mirrored([log.event("c", 1, {"id": 1}, at=wide)])
    run.process([log.event("d", 1, at=SourcePosition(1 << 78, 1 << 78))])
    assert rows(run).keys() == {"1"}


def test_a_database_restored_from_a_backup_starts_over_with_its_snapshot() -> None:
    log = Log()
    run = mirrored([*log.snapshot(900, 1, 2), log.event("c", 3, {"id": 3}), *log.snapshot(50, 1)])
    assert rows(run) == {"1": {"id": 1, "at": 50}}


def test_every_row_names_the_transaction_of_its_last_change() -> None:
    run = mirrored(up_to(10))
    headers = {key: dict(headers) for key, _, _, headers in run.changelog}
    assert headers[b"20"][SOURCE_HEADER] == b"1:22355608/22355608:781"
    assert headers[b"21"][SOURCE_HEADER] == b"1:22355608/22355736:781"


def test_the_changes_of_a_transaction_are_next_to_each_other_and_name_it() -> None:
    run = mirror(every_update=True)
    run.in_batches(up_to(15), [9])  # cut within a transaction
    names = [dict(headers)[SOURCE_HEADER].split(b":")[2] for *_, headers in run.changelog]
    grouped = [name for name, _ in groupby(names) if name]
    assert len(grouped) == len(set(grouped))
    assert names.count(b"781") == 2


def test_every_change_is_a_record_where_transactions_are_wanted_in_order() -> None:
    run = mirror(every_update=True)
    run.process(up_to(15))
    assert [key for key, *_ in run.changelog[:6]] == [b"1", b"2", b"3", b"1", b"2", b"10"]


STEPS = st.lists(
    st.tuples(st.sampled_from("cudtrs"), st.integers(1, 4), st.booleans()), max_size=40
)


@given(STEPS, st.lists(st.integers(0, 60), max_size=6))
def test_the_table_is_the_same_for_every_batch_size(
    steps: list[tuple[str, int, bool]], cuts: list[int]
) -> None:
    log, model, given = Log(), dict[int, Row](), list[Event]()
    for n, (step, key, large) in enumerate(steps):
        if step == "t":
            model.clear()
            given.append(log.event("t", None))
        elif step == "d":
            model.pop(key, None)
            given.append(log.event("d", key))
        elif step in "rs" and model:  # a new snapshot of what is there
            at = next(log.lsn)
            model = {key: {"id": key, "at": at} for key in model}
            given += log.snapshot(at, *model)
        else:
            kept = large and "big" in model.get(key, {})
            big = model[key]["big"] if kept else n
            model[key] = {"id": key, "n": n, "big": big}
            given.append(log.event("u", key, {**model[key], "big": UNAVAILABLE if kept else big}))
    run = mirror()
    run.in_batches(given, [min(cut, len(given)) for cut in cuts], lose_stores=True)
    assert rows(run) == {str(key): row for key, row in model.items()}
    assert run.tally.duplicates == 0


_VARIABLE, _DATE = "io.debezium.data.VariableScaleDecimal", "io.debezium.time.Date"
_TWELVE = {"scale": 0, "value": "DA=="}


def with_schema(field: dict[str, str], value: object) -> bytes:
    schema = {"type": "struct", "fields": [field]}
    return json.dumps({"schema": schema, "payload": {"id": value}}).encode()


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b'{"id":1}', b"1"),
        (b'{"code":"A 1"}', b"A 1"),
        (b'{"code":""}', b'""'),
        (b'{"code":"\\"\\""}', b'"\\"\\""'),
        (b'{"region":"eu","id":7}', b'["eu",7]'),
        (b'{"done":true}', b"true"),
        (with_schema({"type": "int32", "field": "id"}, 5), b"5"),
        (with_schema({"type": "struct", "field": "id", "name": _VARIABLE}, _TWELVE), b"12"),
        (with_schema({"type": "int32", "field": "id", "name": _DATE}, 20455), b"2026-01-02"),
        (b'{"schema":"public","payload":"x"}', b'["public","x"]'),
    ],
)
def test_a_key_is_the_text_of_the_primary_key(data: bytes, key: bytes) -> None:
    assert key_of(data) == key


def test_a_change_without_a_primary_key_is_refused() -> None:
    with pytest.raises(DecodeError, match="without a primary key"):
        key_of(None)


def test_the_topology_shows_the_mirror_and_what_it_writes() -> None:
    app = Pipeline("shop")
    result = app.changes("shop.public.orders").to_table("orders")
    assert (result.topic, result.key, result.value) == ("orders", "string", "row")
    assert app.topics == {"orders", "shop-orders-marks-changelog"}
    assert "orders (mirror) <- source shop.public.orders" in app.describe()


def test_another_key_goes_through_a_repartition_topic() -> None:
    app = Pipeline("shop")
    app.changes("shop.public.orders").select_key(lambda row: row["email"]).to_table("by-email")
    assert "shop-by-email-repartition" in app.topics


def test_invalid_options_of_changes_are_refused() -> None:
    changes = Pipeline("shop").changes("shop.public.orders")
    with pytest.raises(ConfigError, match="transactions"):
        changes.to_table("orders", transactions="all")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="twice"):
        changes.select_key(lambda row: 1).select_key(lambda row: 2)
    with pytest.raises(ConfigError, match="as they come"):
        changes.filter(bool).events()
