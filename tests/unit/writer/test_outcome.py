from __future__ import annotations

import pytest

from lastword.errors import (
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
    NotUpToPositionError,
    WriteFailedError,
)
from lastword.records import Version
from lastword.writer.outcome import Outcome

VERSION = Version(0, 1)


@pytest.mark.parametrize(
    ("version", "error", "status"),
    [
        (VERSION, None, "ok"),
        (VERSION, NotUpToPositionError("late"), "unread"),
        (None, WriteFailedError("refused"), "failed"),
        (None, InvalidRecordError("no key"), "failed"),
        (None, IndeterminateError("no answer"), "indeterminate"),
    ],
)
def test_a_status_says_what_is_known_of_the_record(
    version: Version | None, error: LastwordError | None, status: str
) -> None:
    assert Outcome("key", version, error).status == status
