"""What a commit of the history adds, what it then vouches for, and what it refuses to mix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from lastword.errors import ConfigError, SnapshotError
from lastword.snapshots.catalog.history_planning import plan_history, require_same_log
from lastword.snapshots.travel.history import HistoryCommit, HistoryMetadata
from lastword.snapshots.travel.log_completeness import LogCompleteness
from tests.unit.snapshots.test_snapshot_planning import FACTS, HOUR_MS

METADATA = HistoryMetadata(
    number=4,
    run_id="run",
    topic="users",
    topic_id="topic",
    cluster_id="cluster",
    starts={0: 80, 1: 30},
    offsets={0: 90, 1: 30},
    held_from={0: 10, 1: 0},
    complete_from={0: 20, 1: 0},
    captured_at_ms=9 * HOUR_MS,
    answered_at_ms=9 * HOUR_MS,
    compaction_lag_ms=HOUR_MS,
    leader_epochs={0: 0, 1: 0},
    key_codec="string",
    value_codec="json",
)


def commit(read_for_ms: int = 1000, **changes: Any) -> HistoryCommit:
    metadata = msgspec.structs.replace(METADATA, **changes)
    return HistoryCommit(metadata, 7, metadata.answered_at_ms + read_for_ms)


def test_the_first_commit_vouches_for_nothing_that_may_have_been_cleaned_before_it() -> None:
    plan = plan_history(None, FACTS, LogCompleteness({0: 100, 1: 40}, 0))
    assert (plan.number, plan.starts, plan.ends) == (0, {0: 0, 1: 0}, {0: 100, 1: 40})
    assert (plan.held_from, plan.complete_from) == ({0: 0, 1: 0}, {0: 100, 1: 40})


def test_the_next_history_continues_and_covers_what_was_protected_since() -> None:
    plan = plan_history(commit(), FACTS, LogCompleteness({0: 85, 1: 30}, 0))
    assert (plan.number, plan.starts, plan.changed) == (5, METADATA.offsets, [0, 1])
    assert (plan.held_from, plan.complete_from) == (METADATA.held_from, METADATA.complete_from)


def test_coverage_restarts_where_the_cleaner_may_have_run_since() -> None:
    plan = plan_history(commit(), FACTS, LogCompleteness({0: 95, 1: 30}, 0))
    assert plan.complete_from == {0: 95, 1: 0}
    # As where the start of the log has overtaken it.
    moved = replace(FACTS, starts={0: 93, 1: 0})
    plan = plan_history(commit(), moved, LogCompleteness({0: 0, 1: 0}, 0))
    assert (plan.starts[0], plan.complete_from) == (93, {0: 93, 1: 0})


def test_a_commit_that_took_too_long_vouches_only_for_partitions_that_it_did_not_read() -> None:
    assert commit(29_000).complete_from == {0: 20, 1: 0}
    assert commit(31_000).complete_from == {0: 90, 1: 0}


@pytest.mark.parametrize(
    ("changes", "torn", "error"),
    [
        ({"topic_id": "another"}, None, SnapshotError),
        ({"cluster_id": "another"}, None, SnapshotError),
        ({"offsets": {0: 90}}, None, SnapshotError),
        ({"offsets": {0: 101, 1: 30}}, None, SnapshotError),
        ({}, "partition 0 has lost its tail", SnapshotError),
        ({"value_codec": "string"}, None, ConfigError),
    ],
)
def test_two_logs_are_not_mixed(
    changes: dict[str, Any], torn: str | None, error: type[Exception]
) -> None:
    codecs = ("string", "json")
    require_same_log(commit(), FACTS, "place", codecs, torn=None)
    with pytest.raises(error):
        require_same_log(commit(**changes), FACTS, "place", codecs, torn=torn)
