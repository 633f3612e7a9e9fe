"""Shows positions under a consumer group, where tools that watch lag look for them.

Not through librdkafka: a consumer with a commit under way cannot be closed while its broker is
silent, and its admin client's requests to a group's coordinator abort the whole process when the
broker goes away (seen with 2.16: "Assertion `eonce->refcnt > 0' failed").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lastword.kafka.connection import Connection
from lastword.kafka.wire_admin import wire_admin

TIMEOUT_SECONDS = 3.0


class _Place(NamedTuple):
    """Equal to kafka-python's TopicPartition."""

    topic: str
    partition: int


class _Position(NamedTuple):
    """Equal to kafka-python's OffsetAndMetadata."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


def publish_positions(
    connection: Connection, group: str, topic: str, offsets: Mapping[int, int]
) -> None:
    """Commit ``offsets`` under a group without members, or raise within a few seconds."""
    positions = {_Place(topic, p): _Position(offset) for p, offset in offsets.items()}
    doing = f"publishing positions under {group!r}"
    with wire_admin(connection, doing=doing, timeout_seconds=TIMEOUT_SECONDS) as admin:
        answers = admin.alter_group_offsets(group, positions)
        for refusal in answers.values():
            if refusal.errno:
                raise refusal(f"for the group {group!r}")
