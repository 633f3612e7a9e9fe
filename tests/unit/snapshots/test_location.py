"""Whether there may be snapshots is asked each time: the first may be made while a table runs."""

from __future__ import annotations

from pathlib import Path

from lastword.snapshots.catalog.location import Location


def test_a_place_holds_something_from_the_first_snapshot_or_change_on(tmp_path: Path) -> None:
    for name in ("snapshots", "history"):
        place = Location(str(tmp_path / name), "users")
        assert not place.may_hold_any
        (tmp_path / name / "users" / name).mkdir(parents=True)
        assert place.may_hold_any


def test_a_location_on_another_machine_must_be_checked() -> None:
    assert Location("s3a://bucket/lastword", "users").may_hold_any
