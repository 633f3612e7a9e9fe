"""The limit of a soak run: 99 % of its faults have to keep it."""

from __future__ import annotations

import pytest

from tests.support.partition_faults.fault_costs import most_of


@pytest.mark.parametrize(
    ("faults", "slow", "kept"), [(20, 0, True), (20, 1, False), (200, 2, True), (200, 3, False)]
)
def test_one_fault_in_a_hundred_may_be_slow(faults: int, slow: int, kept: bool) -> None:
    assert (most_of([9.0] * slow + [1.0] * (faults - slow)) < 5.0) == kept
