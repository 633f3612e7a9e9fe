from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.errors import ConfigError
from lastword.records import Position, Version

OFFSETS = st.dictionaries(st.integers(0, 20), st.integers(0, 2**63 - 1), max_size=5)
POSITIONS = OFFSETS.map(Position)


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_a_version_survives_its_text(partition: int, offset: int) -> None:
    version = Version(partition, offset)
    assert Version.parse(str(version)) == version


@given(POSITIONS)
def test_a_position_survives_its_text(position: Position) -> None:
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "1", "1:", ":1", "a:1", "1:-1", "1:2:3", "1.0:2", "¹:2"])
def test_an_invalid_version_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a version") as refused:
        Version.parse(text)
    assert "2:17" in (refused.value.hint or "")


def test_a_position_with_a_bad_part_is_refused() -> None:
    with pytest.raises(ConfigError, match="'x' is not a version"):
        Position.parse("0:1,x")


@given(POSITIONS)
def test_every_position_is_at_least_itself_and_nothing_at_all(position: Position) -> None:
    assert position.at_least(position)
    assert position.at_least(Position())


@given(POSITIONS, POSITIONS)
def test_at_least_means_no_partition_is_behind(one: Position, other: Position) -> None:
    behind = [p for p, offset in other.offsets.items() if one.offsets.get(p, -1) < offset]
    assert one.at_least(other) is not bool(behind)


def test_a_record_is_visible_just_after_its_version() -> None:
    after = Position.after(Version(2, 17))
    assert after == Position({2: 18})
    assert not Position({2: 17}).at_least(after)


def test_versions_of_one_partition_compare_by_offset() -> None:
    assert Version(1, 9) < Version(1, 10)
