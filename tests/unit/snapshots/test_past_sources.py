"""Where a moment lies, by the positions that were recorded."""

from __future__ import annotations

import msgspec
import pytest

from lastword.errors import ConfigError
from lastword.records import Position, Version
from lastword.replicas.topic.protection import ObservedProtection
from lastword.snapshots.catalog.snapshot import Snapshot
from lastword.snapshots.travel.past_sources import PastSources
from lastword.snapshots.travel.replay import ReplayEnd
from tests.unit.snapshots.test_snapshot_planning import METADATA

NOW = ObservedProtection(1000, 1001, {0: 9}, 0)


def snapshot(at_ms: int, offset: int) -> Snapshot:
    """One whose position was answered 10 ms after it was asked for."""
    changes = {"captured_at_ms": at_ms, "answered_at_ms": at_ms + 10, "offsets": {0: offset}}
    return Snapshot(msgspec.structs.replace(METADATA, **changes), 0, at_ms + 20)


KNOWN = PastSources(NOW, [snapshot(500, 5), snapshot(300, 3)], (), ())


def cut_at(time_ms: int) -> ReplayEnd:
    target = KNOWN.resolve("t", time_ms)
    assert target.snapshot is None
    return target.cuts[0]


def test_a_time_lies_between_the_last_position_before_it_and_the_next_one() -> None:
    assert cut_at(299) == ReplayEnd(3, 0, 299)
    assert cut_at(400) == ReplayEnd(5, 3, 400)
    assert cut_at(511) == ReplayEnd(9, 5, 511)
    # While a position is being asked for, it is not known whether it was reached by then.
    assert cut_at(505) == ReplayEnd(9, 3, 505)


def test_a_snapshot_answers_for_its_own_time_and_its_own_position() -> None:
    for moment in (300, Position({0: 3}), Version(0, 2)):
        target = KNOWN.resolve("t", moment)
        assert target.snapshot is not None and target.snapshot.metadata.offsets == {0: 3}


def test_changes_are_added_to_the_newest_snapshot_that_is_certainly_before_the_moment() -> None:
    bases = {at: KNOWN.base_of(KNOWN.resolve("t", at).cuts) for at in (299, 400, 505, 511)}
    found = {at: None if each is None else each.metadata.offsets[0] for at, each in bases.items()}
    assert found == {299: None, 400: 3, 505: 3, 511: 5}
    at_position = KNOWN.base_of(KNOWN.resolve("t", Position({0: 4})).cuts)
    assert at_position is not None and at_position.metadata.offsets == {0: 3}


@pytest.mark.parametrize("never", [1002, Position({0: 10}), Position({1: 0}), Position({})])
def test_a_moment_in_the_future_is_refused(never: int | Position) -> None:
    with pytest.raises(ConfigError):
        KNOWN.resolve("t", never)


def test_a_refusal_names_the_earliest_moment_that_is_certain() -> None:
    assert "1970-01-01T00:00:00.300000+00:00" in str(KNOWN.gone("it", 700))
    assert "1970-01-01T00:00:00.100000+00:00" in str(KNOWN.gone("it", 100))
