"""When a snapshot is known to be what the table was at its position."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.snapshots.catalog.confirmation import is_exact
from lastword.snapshots.travel.log_completeness import LogCompleteness

STARTS, CUT = {0: 0, 1: 10}, {0: 20, 1: 30}
NOTHING = LogCompleteness({0: 99, 1: 99}, 0)
WRITTEN_SINCE = {0: 25, 1: 35}


@pytest.mark.parametrize(
    ("evidence", "exact"),
    [
        ({"read": {0: 20, 1: 20}}, True),  # every offset was there
        ({"read": {0: 20, 1: 19}}, False),
        ({"read": {0: 20}}, False),
        ({"ends_after": CUT}, True),  # nothing was written meanwhile
        ({"ends_after": {0: 20, 1: 31}}, False),
        ({"found": LogCompleteness({0: 20, 1: 30}, 0)}, True),  # the cleaner has not passed the cut
        ({"found": LogCompleteness({0: 20, 1: 31}, 0)}, False),
        (
            {"read": {0: 20}, "found": LogCompleteness({0: 99, 1: 30}, 0)},
            True,
        ),  # each in its own way
        ({"starts": CUT}, True),  # nothing beyond the base
    ],
)
def test_each_partition_needs_one_reason_why_nothing_can_be_missing(
    evidence: dict[str, Any], exact: bool
) -> None:
    starts = evidence.pop("starts", STARTS)
    given = {"read": {}, "ends_after": WRITTEN_SINCE, "found": NOTHING} | evidence
    assert is_exact(starts, CUT, **given) is exact
