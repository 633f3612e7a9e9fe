"""When a snapshot can build on the last one, and when it must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.replicas.topic.topic_state import TopicState
from lastword.snapshots.catalog.snapshot import (
    Snapshot,
    SnapshotMetadata,
    decode_metadata,
    encode_metadata,
)
from lastword.snapshots.catalog.snapshot_catalog import Catalog
from lastword.snapshots.catalog.snapshot_planning import SnapshotPlan, plan_snapshot
from lastword.snapshots.travel.truncation import why_torn

HOUR_MS = 3_600_000
FACTS = TopicState(
    at_ms=10 * HOUR_MS,
    cluster_id="cluster",
    topic_id="topic",
    partitions=2,
    delete_retention_ms=HOUR_MS,
    deletes_old_segments=False,
    starts={0: 0, 1: 0},
    ends={0: 100, 1: 50},
    stable_ends={0: 100, 1: 40},
)
METADATA = SnapshotMetadata(
    number=4,
    run_id="run",
    kind="full",
    topic="users",
    topic_id="topic",
    cluster_id="cluster",
    offsets={0: 90, 1: 40},
    captured_at_ms=FACTS.at_ms - HOUR_MS // 2,
    read_since_ms=FACTS.at_ms - HOUR_MS // 2,
    delete_retention_ms=HOUR_MS,
    key_codec="string",
    value_codec="json",
    keep_ms=HOUR_MS,
)


def snapshot(**changes: Any) -> Snapshot:
    if "captured_at_ms" in changes:
        changes["read_since_ms"] = changes["captured_at_ms"]
    metadata = msgspec.structs.replace(METADATA, **changes)
    return Snapshot(metadata, delta_version=7, committed_at_ms=metadata.captured_at_ms + 1000)


def plan(newest: Snapshot | None, topic_state: TopicState = FACTS, **options: Any) -> SnapshotPlan:
    codecs = {"key_codec": "string", "key_suffix_bytes": 0, "value_codec": "json"} | options
    given = {"torn": None, "full": False} | codecs
    return plan_snapshot(newest, topic_state, now_ms=topic_state.at_ms, **given)


def test_only_what_changed_since_a_young_snapshot_is_read() -> None:
    found = plan(snapshot())
    assert (found.kind, found.number, found.changed) == ("incremental", 5, [0])
    assert (found.starts, found.ends) == ({0: 90, 1: 40}, {0: 100, 1: 40})
    assert found.read_since_ms == METADATA.captured_at_ms


@pytest.mark.parametrize(
    ("newest", "why"),
    [
        (None, "the first one"),
        (snapshot(topic_id="another"), "created again"),
        (snapshot(cluster_id="another"), "another cluster"),
        (snapshot(offsets={0: 90}), "2 partitions now"),
        (snapshot(captured_at_ms=FACTS.at_ms - HOUR_MS), "older than delete.retention.ms"),
        (snapshot(delete_retention_ms=HOUR_MS // 4), "older than delete.retention.ms"),
        (snapshot(read_since_ms=FACTS.at_ms - 9 * HOUR_MS), "took longer"),
        (snapshot(offsets={0: 101, 1: 40}), "without its 101"),
        (snapshot(offsets={0: 90, 1: 45}), "ends before"),
    ],
)
def test_a_full_one_is_taken_where_the_last_one_cannot_be_trusted(
    newest: Snapshot | None, why: str
) -> None:
    found = plan(newest)
    assert (found.kind, found.base, found.starts) == ("full", None, FACTS.starts)
    assert why in found.reason


def test_a_snapshot_is_full_for_other_codecs_and_when_the_log_starts_later() -> None:
    assert plan(snapshot(), value_codec="bytes").kind == "full"
    assert plan(snapshot(), replace(FACTS, starts={0: 95, 1: 0})).kind == "full"


def test_a_note_is_read_back_and_those_of_others_are_not() -> None:
    assert decode_metadata(encode_metadata(METADATA)) == METADATA
    assert decode_metadata(None) is None
    assert decode_metadata('{"by": "somebody else"}') is None
    assert (
        decode_metadata(encode_metadata(msgspec.structs.replace(METADATA, snapshot_format=99)))
        is None
    )


def test_a_snapshot_is_kept_as_long_as_it_was_the_newest_within_the_time_to_keep() -> None:
    hours = [20, 19, 18, 1]  # the one of hour 18 became the newest at 18 and was it until 19
    found = [Snapshot(METADATA, delta_version=h, committed_at_ms=h * HOUR_MS) for h in hours]
    assert Catalog._kept(found) == 3
    assert Catalog._kept(found[:1]) == 1
    assert Catalog._kept([]) == 0


def test_a_topic_that_is_another_one_is_not_asked_about_its_epochs() -> None:
    """Its brokers could not even answer for partitions that it does not have."""
    nobody = KafkaLog(Connection(bootstrap_servers="127.0.0.1:1"))
    for changes in ({"topic_id": "another"}, {"offsets": {0: 90}}):
        metadata = msgspec.structs.replace(METADATA, leader_epochs={0: 7, 1: 7}, **changes)
        assert why_torn(nobody, FACTS, metadata) is None
    same = msgspec.structs.replace(METADATA, leader_epochs={0: 3, 1: 3})
    assert why_torn(nobody, replace(FACTS, leader_epochs={0: 3, 1: 3}), same) is None
