from __future__ import annotations

import pytest

from lastword.testing.fake_clock import FakeClock
from tests.support.offline_topic import OfflineTopic


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def topic(clock: FakeClock) -> OfflineTopic:
    return OfflineTopic(clock)
