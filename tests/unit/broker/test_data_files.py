"""The broker's own files are read in the format Kafka writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastword.broker.data_files import Segment, cleaner_checkpoint, segments
from lastword.errors import BrokerError


def test_the_cleaners_position_is_read_per_partition(tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\nuser-profiles 0 1500\nt.2 11 7\n")
    assert cleaner_checkpoint(tmp_path) == {("user-profiles", 0): 1500, ("t.2", 11): 7}


def test_before_the_first_cleaning_nothing_is_clean(tmp_path: Path) -> None:
    assert cleaner_checkpoint(tmp_path) == {}
    (tmp_path / "cleaner-offset-checkpoint").touch()
    assert cleaner_checkpoint(tmp_path) == {}


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("1\n0\n")
    with pytest.raises(BrokerError, match="format 1"):
        cleaner_checkpoint(tmp_path)


def test_segments_are_listed_by_offset_without_indexes(tmp_path: Path) -> None:
    partition = tmp_path / "users-3"
    partition.mkdir()
    for name in ("00000000000000000120.log", "00000000000000000000.log"):
        (partition / name).write_bytes(b"12345")
        os.utime(partition / name, ns=(0, 1_700_000_000_123_000_000))
    (partition / "00000000000000000000.index").write_bytes(b"")
    (partition / "00000000000000000000.log.cleaned").write_bytes(b"")
    assert segments(tmp_path, "users", 3) == [
        Segment(0, 5, 1_700_000_000_123),
        Segment(120, 5, 1_700_000_000_123),
    ]


def test_a_partition_that_is_not_here_has_no_segments(tmp_path: Path) -> None:
    assert segments(tmp_path, "users", 0) == []
