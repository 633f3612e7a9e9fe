"""Whether a position is still in the log: an unclean election truncates logs, which regrow."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.errors import ConnectionFailedError
from lastword.kafka.admin.offsets import LogEnd
from lastword.kafka.log.source import LogSource, PositionLost, Unreadable

_ANSWERED_WITHIN_S = 30.0
_POLL_S = 0.5


def lost_positions(
    log_source: LogSource, topic: str, places: Mapping[int, LogEnd]
) -> dict[int, str]:
    """The partitions whose log was truncated below these positions, and the reason.

    The consumer asks the leader where the epoch ended before it reads anything, and reports a
    truncated log; librdkafka has no other call for that.
    """
    waiting, lost = set(places), dict[int, str]()
    reader = log_source.follow(topic)
    try:
        for partition, place in places.items():
            reader.assign(partition, place.offset, place.leader_epoch)
        waited_s = 0.0
        while waiting:
            # A corrupt batch does not show whether the log was truncated.
            news = [item for item in reader.poll(_POLL_S) if not isinstance(item, Unreadable)]
            waited_s = 0.0 if news else waited_s + _POLL_S
            if waited_s >= _ANSWERED_WITHIN_S:
                raise ConnectionFailedError(
                    f"{topic}: no answer about partition {min(waiting)} for {waited_s:.0f} s",
                    hint="is the broker reachable?",
                )
            for item in news:
                if isinstance(item, PositionLost):
                    lost[item.partition] = item.reason
                elif item.partition in waiting:
                    reader.release(item.partition)
                waiting.discard(item.partition)
    finally:
        reader.close()
    return lost
