from __future__ import annotations

from collections.abc import Sequence

import pytest

from lastword.errors import (
    EncodeError,
    IndeterminateError,
    InvalidRecordError,
    NotUpToPositionError,
    WriteError,
    WriteFailedError,
)
from lastword.records import Version, Write
from lastword.writer.outcome import (
    Acknowledged,
    Failed,
    Indeterminate,
    Outcome,
    Unread,
    outcome_of,
    write_each,
)

VERSION = Version(0, 1)
REFUSED = WriteFailedError("refused")
CASES = [
    Acknowledged("key", VERSION),
    Unread("key", NotUpToPositionError("late", version=VERSION), VERSION),
    Failed("key", REFUSED),
    Indeterminate("key", IndeterminateError("no answer")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.status)
def test_an_outcome_raises_its_error_or_gives_its_version(case: Outcome) -> None:
    if case.error is None:
        assert case.raise_or_version() == case.version == VERSION
    else:
        with pytest.raises(type(case.error)) as raised:
            case.raise_or_version()
        assert raised.value is case.error


def test_only_a_record_in_the_topic_has_a_version() -> None:
    versions = {case.status: case.version for case in CASES}
    assert versions == {"ok": VERSION, "unread": VERSION, "failed": None, "indeterminate": None}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.status)
def test_another_name_for_the_key_changes_nothing_else(case: Outcome) -> None:
    renamed = case.with_key(7)
    assert type(renamed) is type(case)
    assert (renamed.key, renamed.version, renamed.error) == (7, case.version, case.error)
    assert renamed != case == case.with_key("key")


def test_a_case_needs_all_that_it_says() -> None:
    with pytest.raises(TypeError, match="version"):
        Acknowledged("key")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="error"):
        Failed("key")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("delivery", "case"),
    [
        (VERSION, Acknowledged),
        (REFUSED, Failed),
        (InvalidRecordError("no key"), Failed),
        (IndeterminateError("no answer"), Indeterminate),
    ],
)
def test_the_answer_of_a_producer_decides_the_case(
    delivery: Version | WriteError, case: type[Outcome]
) -> None:
    assert type(outcome_of("key", delivery)) is case


def test_an_invalid_record_fails_alone_and_each_item_keeps_its_name() -> None:
    written: list[Write] = []

    def write(records: Sequence[Write]) -> list[Outcome]:
        written.extend(records)
        return [Acknowledged(record.key, Version(0, n)) for n, record in enumerate(records)]

    a, b, unfit = Write(b"a", b"1"), Write(b"b", None), EncodeError("not JSON")
    outcomes = write_each(write, [("A", a), ("bad", unfit), ("B", b)])
    assert written == [a, b]
    assert outcomes == [
        Acknowledged("A", Version(0, 0)),
        Failed("bad", unfit),
        Acknowledged("B", Version(0, 1)),
    ]
