from __future__ import annotations

import pytest

from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import OfflineTable


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def table(clock: FakeClock) -> OfflineTable:
    """One that holds all three partitions of its topic."""
    return OfflineTable(clock)
