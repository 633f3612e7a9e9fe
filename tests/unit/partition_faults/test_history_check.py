"""The judge of the fault campaign finds planted violations."""

from __future__ import annotations

import json
from pathlib import Path

from lastword.records import Record
from tests.support.partition_faults.history_check import (
    Histories,
    ReadMade,
    WriteMade,
    unseen_or_repeated,
    violations,
)

LOG = [
    Record(0, offset, 0, b"k", json.dumps(value).encode(), ())
    for offset, value in enumerate(("old", "new"))
]
OLD = WriteMade("a", 0, 1.0, 2.0, "ok", "old", 0)
NEW = WriteMade("a", 0, 3.0, 4.0, "ok", "new", 1)


def read(value: str, position: int, staleness_s: float) -> ReadMade:
    return ReadMade("b", 0, 5.0, 5.1, "ok", "k", value, position, staleness_s, "a")


def found(writes: list[WriteMade], *reads: ReadMade) -> list[str]:
    return violations(Histories(writes, list(reads)), LOG)


def test_what_agrees_with_the_log_is_fine() -> None:
    assert not found([OLD, NEW], read("new", 2, 0.1), read("old", 1, 2.0))


def test_an_acknowledged_write_that_the_log_lacks_is_found() -> None:
    (said,) = found([OLD, NEW._replace(offset=2)])
    assert said.startswith("acknowledged and lost")


def test_a_refused_write_that_the_log_has_is_found() -> None:
    (said,) = found([OLD, NEW._replace(status="NotOwnerError")])
    assert said.startswith("refused and written")


def test_a_value_that_the_log_does_not_have_at_the_position_is_found() -> None:
    (said,) = found([OLD, NEW], read("old", 2, 0.1))
    assert said.startswith("not what the log has")


def test_a_read_that_is_staler_than_it_says_is_found() -> None:
    (said,) = found([OLD, NEW], read("old", 1, 0.1))
    assert said.startswith("staler than stated, offset 1 is missing")


def test_changes_that_a_watch_missed_or_saw_twice_are_found(tmp_path: Path) -> None:
    log = [LOG[0], LOG[1], LOG[1]._replace(offset=2)]
    path = tmp_path / "a.changes"
    for offsets, fine in (("012", True), ("02", False), ("0112", False), ("021", False)):
        path.write_text("".join(f"0:{offset} False 0:{offset};\n" for offset in offsets))
        assert bool(unseen_or_repeated(path, log)) is not fine
