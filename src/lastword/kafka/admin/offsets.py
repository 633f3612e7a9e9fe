"""Where the logs of a topic start and end, as the leaders of its partitions report.

For a partition whose leader hangs or is gone, librdkafka answers -1001 *without an error*. So a
negative offset is not an answer: the request is repeated, and such an offset never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from lastword.clock import Clock
from lastword.errors import ConnectionFailedError
from lastword.kafka.admin.calls import AdminCalls, LeaderCalls
from lastword.kafka.admin.client_failures import is_no_such_topic, is_unanswered

TRY_SECONDS = 5.0
"""One silent leader delays the answers of all others for as long as a request may take. A
client that was just made needs up to 3 s of it to find out that its first broker is silent."""

_LEAST_SECONDS = 1.0
_PAUSE_SECONDS = 0.2
_NO_SUCH_TIME = -1


class LogEnd(NamedTuple):
    """An offset of a log; ``leader_epoch`` is -1 if the broker does not report it."""

    offset: int
    leader_epoch: int


class LogBounds(NamedTuple):
    """The ends of one partition's log: ``0 <= start <= stable_end <= end``.

    ``stable_end`` is the start of the first open transaction, or ``end`` when none is open.
    ``leader_epoch`` is that of the leader that answered; -1 if the broker does not report it.
    """

    start: int
    stable_end: int
    end: int
    leader_epoch: int


class OffsetQuery(NamedTuple):
    """Which offset of a log to look up."""

    spec: OffsetSpec
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED


START = OffsetQuery(OffsetSpec.earliest())
STABLE_END = OffsetQuery(OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
END = OffsetQuery(OffsetSpec.latest())
_BOUNDS = (START, STABLE_END, END)


class OffsetQueries:
    """Asks leaders for offsets; ``check_partitions`` raises when a partition does not exist."""

    def __init__(
        self,
        calls: AdminCalls,
        check_partitions: Callable[[str, set[int]], None],
        *,
        timeout_seconds: float,
        clock: Clock,
    ) -> None:
        self._calls = calls
        self._check_partitions = check_partitions
        self._timeout = timeout_seconds
        self._clock = clock

    def of(self, topic: str, partitions: Iterable[int], question: OffsetQuery) -> dict[int, int]:
        """One offset of each partition; raises ConnectionFailedError unless all are answered."""
        return self._every(topic, partitions, (question,), _offset)

    def bounds(self, topic: str, partitions: Iterable[int]) -> dict[int, LogBounds]:
        """The bounds of each partition; raises ConnectionFailedError unless all are answered."""
        return self._every(topic, partitions, _BOUNDS, _bounds)

    def bounds_answered(self, topic: str, partitions: Iterable[int]) -> dict[int, LogBounds]:
        """The bounds of the partitions whose leaders answer at once; the others are absent."""
        return self._some(topic, set(partitions), _BOUNDS, _bounds, TRY_SECONDS)

    def since(self, topic: str, ends: Mapping[int, int], timestamp_ms: int) -> dict[int, int]:
        """The first offset of each partition with that time or a later one; else its end."""
        question = OffsetQuery(OffsetSpec.for_timestamp(timestamp_ms))
        found = self._every(topic, ends, (question,), _offset_at_time)
        return {p: ends[p] if at == _NO_SUCH_TIME else at for p, at in found.items()}

    def newest(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The latest time of a record of each partition; -1 for one without records."""
        question = OffsetQuery(OffsetSpec.max_timestamp())
        return self._every(topic, partitions, (question,), _newest_time)

    def _every(
        self, topic: str, partitions: Iterable[int], questions: tuple[OffsetQuery, ...], read: Any
    ) -> dict[int, Any]:
        deadline = self._clock.monotonic() + self._timeout
        missing, found = set(partitions), dict[int, Any]()
        while missing:
            left = deadline - self._clock.monotonic()
            if left <= 0:
                raise ConnectionFailedError(
                    f"{self._calls.servers} did not say within {self._timeout:g} s where the "
                    f"log of {topic!r} starts and ends: no answer from the leader of partition "
                    f"{min(missing)}",
                    hint=f"see which broker leads it: lastword topic describe {topic}",
                )
            seconds = max(_LEAST_SECONDS, min(TRY_SECONDS, left))
            found |= self._some(topic, missing, questions, read, seconds)
            missing -= found.keys()
            if missing:
                self._clock.sleep(_PAUSE_SECONDS)
        return found

    def _some(
        self,
        topic: str,
        partitions: set[int],
        questions: tuple[OffsetQuery, ...],
        read: Any,
        seconds: float,
    ) -> dict[int, Any]:
        """The answers of one try; the client is replaced if some are missing."""
        if not partitions:
            return {}
        with self._calls.to_leaders() as leaders:
            answers = self._answers(leaders, topic, partitions, questions, seconds)
        found = {}
        for p, given in answers.items():
            value = read(*given)
            if value is not None:
                found[p] = value
        if len(found) < len(partitions):
            # It may know a former leader only, which a new client does not.
            self._calls.close()
        return found

    def _answers(
        self,
        leaders: LeaderCalls,
        topic: str,
        partitions: set[int],
        questions: tuple[OffsetQuery, ...],
        seconds: float,
    ) -> dict[int, list[Any]]:
        """The answers of the partitions that answered every question.

        The leaders are looked up for the first question alone. The others are asked together,
        and only where it was answered: a silent leader costs one timeout.
        """
        deadline = self._clock.monotonic() + seconds
        first = self._asked(leaders, topic, partitions, questions[:1], seconds)
        if len(questions) == 1:
            return first
        answered = {p for p, (answer,) in first.items() if answer.offset >= 0}
        left = max(_LEAST_SECONDS, deadline - self._clock.monotonic())
        others = self._asked(leaders, topic, answered, questions[1:], left)
        return {p: [*first[p], *others[p]] for p in others}

    def _asked(
        self,
        leaders: LeaderCalls,
        topic: str,
        partitions: set[int],
        questions: tuple[OffsetQuery, ...],
        seconds: float,
    ) -> dict[int, list[Any]]:
        if not partitions:
            return {}

        def ask(client: Any, timeout: float) -> dict[Any, Any]:
            return {
                (place.partition, index): future
                for index, question in enumerate(questions)
                for place, future in client.list_offsets(
                    {TopicPartition(topic, p): question.spec for p in partitions},
                    isolation_level=question.isolation,
                    request_timeout=timeout,
                ).items()
            }

        doing = f"reading the offsets of {topic!r}"
        answers = leaders.each(ask, seconds, doing=doing, topic=topic)
        self._raise_unless_unanswered(topic, partitions, answers.values(), doing)
        of_each = {p: [answers[p, index] for index in range(len(questions))] for p in partitions}
        return {
            p: given
            for p, given in of_each.items()
            if not any(isinstance(answer, KafkaError) for answer in given)
        }

    def _raise_unless_unanswered(
        self, topic: str, partitions: set[int], answers: Iterable[Any], doing: str
    ) -> None:
        errors = [answer for answer in answers if isinstance(answer, KafkaError)]
        for error in errors:
            if not (is_unanswered(error) or is_no_such_topic(error)):
                raise self._calls.failure(error, doing, topic)
        if errors:
            # librdkafka tells an unknown partition, an unknown topic and a missing leader apart
            # only by chance. If there is such a partition, its leader has not answered.
            self._check_partitions(topic, partitions)


def _offset(answer: Any) -> int | None:
    return int(answer.offset) if answer.offset >= 0 else None


def _offset_at_time(answer: Any) -> int | None:
    return int(answer.offset) if answer.offset >= _NO_SUCH_TIME else None


def _newest_time(answer: Any) -> int | None:
    return int(answer.timestamp) if answer.offset >= _NO_SUCH_TIME else None


def _bounds(start: Any, stable: Any, end: Any) -> LogBounds | None:
    """None also if the three contradict each other: the log was truncated in between."""
    if not 0 <= start.offset <= stable.offset <= end.offset:
        return None
    epoch = -1 if stable.leader_epoch is None else int(stable.leader_epoch)
    return LogBounds(int(start.offset), int(stable.offset), int(end.offset), epoch)
