"""Random topologies with random input, for Kafka Streams and for a pipeline alike.

The functions have the same names and meaning in java/StreamsCases.java. They never fail, and
tell no value, JSON's null and a number apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from random import Random
from typing import Any, NamedTuple

from lastword.pipelines import NULL, Pipeline, hopping, session, tumbling
from lastword.pipelines.api.grouped import GroupedStream
from lastword.pipelines.api.result import Result
from lastword.pipelines.api.stream import Stream
from lastword.pipelines.api.windows import SessionWindows, TimeWindows

STORE = "store"
TOPICS = ("a", "b", "c")


Steps = tuple[tuple[str, str], ...]
"""Kind and function of each step."""


class Way(NamedTuple):
    """One of the ways on which the records of some topics reach the fold."""

    topics: tuple[str, ...]
    steps: Steps


class Given(NamedTuple):
    """A record of a source topic, as it is in the log."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


@dataclass(frozen=True)
class Case:
    """A topology, its input, and how a pipeline is to run it.

    All ``ways`` are merged, then come ``steps``. ``records`` are in the order in which they are
    processed. ``cuts`` is where batches end,
    ``lose_stores`` whether the stores are lost after each, ``cache`` the option of that name.
    """

    topics: tuple[str, ...]
    ways: tuple[Way, ...]
    steps: Steps
    fold: str
    function: str
    merger: str
    initial: int | None
    windows: TimeWindows | SessionWindows | None
    retention_ms: int | None
    suppress: bool
    records: tuple[Given, ...]
    cuts: tuple[int, ...]
    lose_stores: bool
    cache: bool

    def as_json(self) -> dict[str, Any]:
        """As java/StreamsCases.java reads it."""
        return {
            "topics": self.topics,
            "ways": [way._asdict() for way in self.ways],
            "steps": self.steps,
            "fold": self.fold,
            "function": self.function,
            "merger": self.merger,
            "initial": self.initial,
            "windows": _windows_as_json(self.windows),
            "retention": self.retention_ms,
            "suppress": self.suppress,
            "records": [
                [
                    self.topics.index(each.topic),
                    None if each.key is None else each.key.hex(),
                    None if each.value is None else each.value.decode(),
                    each.timestamp_ms,
                ]
                for each in self.records
            ],
        }

    def declare(self, app: Pipeline) -> Result:
        """The same as a pipeline."""
        ways = [_with_steps(app.stream(*way.topics), way.steps) for way in self.ways]
        stream = _with_steps(reduce(Stream.merge, ways), self.steps)
        grouped = stream.group_by_key()
        if self.windows is not None:
            grouped = grouped.windowed_by(self.windows)
        result = self._folded(grouped)
        return result.suppress() if self.suppress else result

    @property
    def stream_time_ms(self) -> int:
        """The largest time of the records that reach the fold with a key."""
        return max((at_ms for _, at_ms in self._folded_records()), default=-1)

    @property
    def tells_twice(self) -> bool:
        """Whether Kafka Streams would emit a final session again, with another value.

        It closes a session at the very time at which it still accepts records for it. A pipeline
        emits each session once: such a record is late.
        """
        if not self.suppress or not isinstance(self.windows, SessionWindows):
            return False
        stream_time_ms, seen = -1, set()
        for key, at_ms in self._folded_records():
            if (key, at_ms) in seen and at_ms == stream_time_ms - self.windows.open_ms:
                return True
            seen.add((key, at_ms))
            stream_time_ms = max(stream_time_ms, at_ms)
        return False

    def _folded_records(self) -> Iterator[tuple[Any, int]]:
        """Key and time of the records that come through all steps with a key."""
        for given in self.records:
            for way in self.ways:
                if given.topic not in way.topics:
                    continue
                key: Any = given.key
                value = None if given.value is None else json.loads(given.value)
                value = NULL if given.value == b"null" else value
                kept = True
                for kind, name in (*way.steps, *self.steps):
                    kept = kept and (kind != "filter" or FILTERS[name](key, value))
                    value = MAPS[name](value) if kind == "map" else value
                    key = KEYS[name](key, value) if kind == "key" else key
                if kept and key is not None:
                    yield key, given.timestamp_ms

    def _folded(self, grouped: GroupedStream) -> Result:
        options: Any = {"cache": self.cache}
        if self.retention_ms is not None:
            options["retention"] = self.retention_ms
        function, merger = REDUCERS[self.function], REDUCERS[self.merger]
        if self.fold == "count":
            return grouped.count(STORE, **options)
        if self.fold == "latest":
            return grouped.latest(STORE, **options)
        if self.fold == "reduce":
            return grouped.reduce(function, STORE, value="json", **options)
        return grouped.aggregate(
            lambda: self.initial,
            lambda _, value, aggregate: function(aggregate, value),
            STORE,
            merger=lambda _, earlier, later: merger(earlier, later),
            **options,
        )


def random_case(random: Random) -> Case:
    """One for which a pipeline promises what Kafka Streams computes."""
    case = _random_case(random)
    while case.tells_twice:
        case = _random_case(random)
    return case


def _random_case(random: Random) -> Case:
    """Small times and few keys, so that everything happens often."""
    kind = random.choice(("none", "tumbling", "hopping", "session", "session"))
    # Kafka Streams keeps windows in segments of a minute at least.
    unit_ms = random.choice((1, 1, 1, 7_000))
    windows = _random_windows(kind, unit_ms, random)
    suppress = windows is not None and random.random() < 0.4
    sessions_told = suppress and kind == "session"
    kept_longer = random.random() < 0.5 and not sessions_told
    topics = TOPICS[: random.choice((1, 1, 1, 2, 3))]
    steps = _random_steps(((), (), ("filter",), ("map",), ("map", "filter"), ("key",)), random)
    logs = {topic: _random_records(topic, unit_ms, random) for topic in topics}
    one_batch = len(topics) > 1
    return Case(
        topics=topics,
        ways=_random_ways(topics, random),
        steps=steps,
        fold=random.choice(("count", "reduce", "aggregate", "aggregate", "latest")),
        function=random.choice(tuple(REDUCERS)),
        merger=random.choice(tuple(REDUCERS)),
        initial=random.choice((0, 5, None)),
        windows=windows,
        retention_ms=windows.open_ms + random.choice((0, 1, 7, 40)) * unit_ms
        if windows is not None and kept_longer
        else None,
        suppress=suppress,
        records=tuple(_in_time_order(logs)),
        cuts=() if one_batch else tuple(random.choices(range(61), k=random.choice((0, 1, 5, 20)))),
        lose_stores=random.random() < 0.2,
        cache=random.random() < 0.7,
    )


def _random_ways(topics: tuple[str, ...], random: Random) -> tuple[Way, ...]:
    """Often one; otherwise several that share topics, each but one with a step of its own."""
    count = random.choice((1, 1, 1, 2, 3))
    if count == 1:
        return (Way(topics, ()),)
    kinds = (("filter",), ("map",), ("map", "filter"), ("filter", "map"))
    ways = [Way(topics, _random_steps(kinds, random))]
    for _ in range(1, count):
        some = tuple(sorted(random.sample(topics, random.randint(1, len(topics)))))
        ways.append(Way(some, _random_steps(kinds, random)))
    if random.random() < 0.3:
        ways[-1] = Way(topics[:1], ())
    random.shuffle(ways)
    return tuple(ways)


def _random_steps(kinds: Sequence[tuple[str, ...]], random: Random) -> Steps:
    return tuple((kind, random.choice(_FUNCTIONS[kind])) for kind in random.choice(kinds))


def _random_windows(kind: str, unit_ms: int, random: Random) -> TimeWindows | SessionWindows | None:
    grace_ms = random.choice((0, 0, 1, 5, 20)) * unit_ms
    length = random.choice((1, 4, 10, 16))
    if kind == "tumbling":
        return tumbling(length * unit_ms, grace=grace_ms)
    if kind == "hopping":
        return hopping(length * unit_ms, random.randint(1, length) * unit_ms, grace=grace_ms)
    return session(length * unit_ms, grace=grace_ms) if kind == "session" else None


def _random_records(topic: str, unit_ms: int, random: Random) -> list[Given]:
    """Time goes on by steps, with records that come late and times that come twice."""
    records: list[Given] = []
    now = random.randint(1, 20)
    late = random.choice((0, 3, 12, 40))
    for _ in range(random.randint(0, 60)):
        now += random.choice((0, 0, 1, 1, 2, 7, 25))
        at = max(1, now - random.choice((0, 0, 0, late, random.randint(0, late))))
        key = random.choice((b"p", b"q", b"q", b"qq", b"", None))
        value = random.choice((None, b"null", *(b"%d" % n for n in range(10))))
        records.append(Given(topic, key, value, at * unit_ms))
    return records


def _in_time_order(logs: dict[str, list[Given]]) -> Iterator[Given]:
    """As Kafka Streams takes them: always the topic whose next record is the earliest."""
    waiting = {topic: list(reversed(log)) for topic, log in logs.items()}
    while any(waiting.values()):
        topic = min(
            (topic for topic, log in waiting.items() if log),
            key=lambda topic: waiting[topic][-1].timestamp_ms,
        )
        yield waiting[topic].pop()


def number(value: Any) -> int:
    """No value, JSON's null and a number: three different things."""
    if value is None:
        return 1000
    return 100 if value is NULL else int(value)


def _mix(old: Any, value: Any) -> int:
    return (number(old) * 31 + number(value)) % 9973


REDUCERS: dict[str, Callable[[Any, Any], Any]] = {
    "mix": _mix,
    "gone": lambda old, value: None if _mix(old, value) % 3 == 0 else _mix(old, value),
    "null": lambda old, value: NULL if _mix(old, value) % 3 == 0 else _mix(old, value),
}
FILTERS: dict[str, Callable[[Any, Any], bool]] = {
    "even": lambda _, value: number(value) % 2 == 0,
    "there": lambda _, value: value is not None,
}
MAPS: dict[str, Callable[[Any], Any]] = {
    "more": lambda value: number(value) + 1,
    "same": lambda value: value,
    "gone": lambda value: None if number(value) % 3 == 0 else value,
    "null": lambda value: NULL if number(value) % 4 == 0 else value,
}
KEYS: dict[str, Callable[[Any, Any], str]] = {
    "third": lambda _, value: f"k{number(value) % 3}",
    "empty": lambda _, value: "" if number(value) % 3 == 0 else f"k{number(value) % 3}",
}
_FUNCTIONS = {"filter": tuple(FILTERS), "map": tuple(MAPS), "key": tuple(KEYS)}
_STEPS: dict[str, Callable[[Stream, str], Stream]] = {
    "filter": lambda stream, name: stream.filter(FILTERS[name]),
    "map": lambda stream, name: stream.map_values(MAPS[name]),
    "key": lambda stream, name: stream.select_key(KEYS[name]),
}


def _with_steps(stream: Stream, steps: Steps) -> Stream:
    for kind, name in steps:
        stream = _STEPS[kind](stream, name)
    return stream


def _windows_as_json(windows: TimeWindows | SessionWindows | None) -> dict[str, int] | None:
    if windows is None:
        return None
    if isinstance(windows, SessionWindows):
        return {"gap": windows.gap_ms, "grace": windows.grace_ms}
    return {"size": windows.size_ms, "advance": windows.advance_ms, "grace": windows.grace_ms}
