"""The judge of the fault campaign finds planted violations."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from lastword.records import REQUEST_HEADER, Record
from tests.support.partition_faults.histories import (
    Histories,
    ReadMade,
    WriteMade,
    read_histories,
)
from tests.support.partition_faults.history_check import Verdict, judge, unseen_or_repeated
from tests.support.partition_faults.reading import GET, GET_MANY, SCAN


def record(offset: int, key: str, value: str | None) -> Record:
    raw = None if value is None else json.dumps(value).encode()
    return Record(0, offset, 0, key.encode(), raw, ())


LOG = [record(0, "k", "old"), record(1, "k", "new"), record(2, "l", "gone"), record(3, "l", None)]
OLD = WriteMade(0, 1.0, 2.0, "ok", "k", "old", 0, "a")
NEW = WriteMade(0, 3.0, 4.0, "ok", "k", "new", 1, "a")
ROW_OLD, ROW_NEW, ROW_GONE = ("k", 0, "old"), ("k", 1, "new"), ("l", 2, "gone")


def read(
    *rows: tuple[str, int, str],
    position: int,
    staleness_s: float = 9.0,
    kind: str = GET,
    asked: tuple[str, ...] = ("k",),
) -> ReadMade:
    asked_for, found = list(asked), list(rows)
    return ReadMade(
        kind, 5.0, 5.1, "ok", asked_for, [0], found, {0: position}, staleness_s, ["a"], "b"
    )


def verdict(writes: list[WriteMade], *reads: ReadMade) -> Verdict:
    return judge(Histories(writes, list(reads)), LOG)


def found(writes: list[WriteMade], *reads: ReadMade) -> list[str]:
    return verdict(writes, *reads).violations


def test_what_agrees_with_the_log_is_fine() -> None:
    fine = [
        read(ROW_NEW, position=2, staleness_s=0.1),
        read(ROW_OLD, position=1, staleness_s=2.0),
        read(position=0),
        read(ROW_GONE, ROW_NEW, position=3, kind=GET_MANY, asked=("k", "l", "never")),
        read(ROW_NEW, position=4, kind=GET_MANY, asked=("k", "l")),
        read(ROW_NEW, ROW_GONE, position=3, kind=SCAN, asked=("k", "m")),
        read(ROW_NEW, position=4, kind=SCAN, asked=("a", "z")),
        read(position=4, kind=SCAN, asked=("a", "k")),
    ]
    said = verdict([OLD, NEW], *fine)
    assert not said.violations
    assert (said.reads, said.routed, said.keys, said.routed_keys) == (8, 8, 12, 12)
    assert said.observed_max_s == 3.0


def test_an_acknowledged_write_that_the_log_lacks_is_found() -> None:
    (said,) = found([OLD, msgspec.structs.replace(NEW, offset=4)])
    assert said.startswith("acknowledged and lost")


def test_a_write_that_is_in_the_log_twice_is_found() -> None:
    twice = [each._replace(headers=((REQUEST_HEADER, b"one"),)) for each in LOG[:2]]
    (said,) = judge(Histories([], []), [*twice, *LOG[2:]]).violations
    assert said == "written 2 times: request b'one'"


def test_an_acknowledged_delete_that_the_log_lacks_is_found() -> None:
    (said,) = found([OLD, msgspec.structs.replace(NEW, key="l", value=None, offset=4)])
    assert said.startswith("acknowledged and lost")


def test_a_refused_write_that_the_log_has_is_found() -> None:
    (said,) = found([OLD, msgspec.structs.replace(NEW, status="NotOwnerError")])
    assert said.startswith("refused and written")


@pytest.mark.parametrize(
    "wrong",
    [
        read(ROW_OLD, position=2),
        read(("k", 1, "old"), position=2),
        read(position=2),
        read(ROW_GONE, position=4, asked=("l",)),
        read(ROW_NEW, position=3, kind=GET_MANY, asked=("k", "l")),
        read(ROW_NEW, ROW_GONE, position=4, kind=GET_MANY, asked=("k", "l")),
        read(ROW_NEW, position=3, kind=SCAN, asked=("k", "m")),
        read(ROW_GONE, ROW_NEW, position=3, kind=SCAN, asked=("k", "m")),
        read(ROW_NEW, ROW_NEW, position=2, kind=SCAN, asked=("k", "l")),
        read(ROW_NEW, ROW_GONE, position=3, kind=SCAN, asked=("k", "l")),
    ],
)
def test_rows_that_the_log_does_not_have_at_the_position_are_found(wrong: ReadMade) -> None:
    (said,) = found([], wrong)
    assert said.startswith("not what the log has")


def test_a_read_that_does_not_name_the_position_of_its_partition_is_found() -> None:
    (said,) = found([], msgspec.structs.replace(read(ROW_NEW, position=2), offsets={}))
    assert said.startswith("not what the log has")


def test_a_read_that_is_staler_than_it_says_is_found() -> None:
    (said,) = found([OLD, NEW], read(ROW_OLD, position=1, staleness_s=0.9))
    assert said.startswith("staler than stated, partition 0 lacks what was acknowledged 1.000 s")


def test_a_write_counts_from_its_own_acknowledgement_on() -> None:
    late = msgspec.structs.replace(OLD, ended=4.8)
    assert not found([late, NEW], read(ROW_OLD, position=1, staleness_s=1.1))
    assert found([late, NEW], read(position=0, staleness_s=0.9))


def test_a_history_is_read_again_each_time_and_a_cut_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "b.history"
    lines = [OLD, read(ROW_NEW, position=2), ReadMade(GET, 1.0, 2.0, "TooStaleError", ["k"], [0])]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b'\n["r","get",1.0,')
    histories = read_histories([path])
    assert [each.value for each in histories.writes] == ["old"]
    for _ in range(2):
        assert [(each.instance, each.routed) for each in histories.reads] == [
            ("b", True),
            ("b", False),
        ]
    assert len(judge(histories, LOG).failed) == 1


def test_changes_that_a_watch_missed_or_saw_twice_are_found(tmp_path: Path) -> None:
    log = [record(offset, "k", "value") for offset in range(3)]
    path = tmp_path / "a.changes"
    for offsets, fine in (("012", True), ("02", False), ("0112", False), ("021", False)):
        path.write_text("".join(f"0:{offset} False 0:{offset};\n" for offset in offsets))
        assert bool(unseen_or_repeated(path, log)) is not fine
