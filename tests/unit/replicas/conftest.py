from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic
from tests.support.local_tables.sweep_lab import Lab, running_lab


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def topic(clock: FakeClock) -> OfflineTopic:
    return OfflineTopic(clock)


@pytest.fixture
def lab(clock: FakeClock) -> Iterator[Lab]:
    with running_lab(clock) as lab:
        yield lab
