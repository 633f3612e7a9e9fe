"""How the records of a key become its value: the part of an aggregation that a user writes.

Semantics are those of Kafka Streams: a fold sees a key's records in offset order, None stands
for "no value" on either side, a result of None forgets the key, and what comes after that starts
from nothing again. A null that was written is a value: NULL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastword.codecs.null import NULL
from lastword.errors import ConfigError

Field = str | Callable[[Any], Any]
"""What of a value is summed up: the name of a field, or a function of the value."""


BEFORE = -1
"""As the beginning of a value: it has one already before the records."""


Folded = tuple[Any, int]
"""A value after some records, and the index of the one with which it began, or ended.

A value that was there before the records, and never forgotten since, began BEFORE them. A plain
tuple: there is one for every key of a batch.
"""


class Fold(ABC):
    """Turns a key's old value and its new records into its new value.

    ``takes_nulls`` says whether records without a value reach the fold when there are no
    windows: Kafka Streams leaves them out of counts and reductions, but not out of windows.
    ``keeps_first`` says whether the first value becomes the state as it is.
    """

    takes_nulls = False
    keeps_first = False

    @abstractmethod
    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The value after one more record."""

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """The value after all of ``values``."""
        since = BEFORE
        for i, value in enumerate(values):
            new = self.step(key, old, value)
            if (new is None) != (old is None):
                since = i
            old = new
        return old, since

    def join(self, key: Any, sessions: Sequence[Any], value: Any) -> Any:
        """The value of one session out of those of several, the earliest first, and a record."""
        return self.step(key, self.merge(key, sessions), value)

    def merge(self, key: Any, values: Sequence[Any]) -> Any:
        """One value out of those of several sessions, the earliest first; None out of none."""
        merged = None
        for value in values:
            merged = value if merged is None else self.merge_two(key, merged, value)
        return merged

    @abstractmethod
    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """One value out of two."""


class Count(Fold):
    """How many records a key had."""

    def step(self, key: Any, old: Any, value: Any) -> int:
        """One more."""
        return (old or 0) + 1

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """As many more at once."""
        return (old or 0) + len(values), 0 if old is None else BEFORE

    def merge_two(self, key: Any, earlier: int, later: int) -> int:
        """Both."""
        return earlier + later


class Latest(Fold):
    """The last value; a record without one deletes the key."""

    takes_nulls = True

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The new one."""
        return value

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """The last one; the others do not matter, unless the key was forgotten between them."""
        if None in values:
            return super().apply(key, old, values)
        return values[-1], 0 if old is None else BEFORE

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The later one."""
        return later


class Merge(Fold):
    """Partial updates folded into the full state: fields of the new object replace the old."""

    takes_nulls = True

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The old object with the new fields; a record without a value deletes the key."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise TypeError(f"merge() takes objects, not {type(value).__name__}")
        return {**(old or {}), **value}

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The fields of both, the later ones where both have them."""
        return {**earlier, **later}


@dataclass(frozen=True)
class Reduce(Fold):
    """The user's function of the old and the new value; the first value stands as it is."""

    keeps_first = True

    reducer: Callable[[Any, Any], Any]

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Reduce, once there is something to reduce with."""
        return value if old is None else self.reducer(old, value)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """As if the later one were a value."""
        return self.reducer(earlier, later)


@dataclass(frozen=True)
class Aggregate(Fold):
    """The user's function of key, value and aggregate, from an initial aggregate on."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Aggregate, from the initial value when the key is new."""
        return self.aggregator(key, value, self.initializer() if old is None else old)

    def join(self, key: Any, sessions: Sequence[Any], value: Any) -> Any:
        """All of them, from the initial value on; a merger's None is handed on as it is."""
        aggregate = self.initializer()
        for each in sessions:
            aggregate = self.merge_two(key, aggregate, each)
        return self.aggregator(key, value, aggregate)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The user's merger, without which no sessions are aggregated."""
        if self.merger is None:
            raise TypeError("this aggregate has no merger")
        return self.merger(key, earlier, later)


@dataclass(frozen=True)
class Extreme(Fold):
    """The smallest or largest of a field."""

    field: Field
    better: Callable[[Any, Any], Any]

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The better of the two; a record without the field changes nothing."""
        found = pick(self.field, value)
        if found is None:
            return old
        # What was not a number was written as null.
        return found if old is None or old is NULL else self.better(old, found)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The better of the two."""
        return self.better(earlier, later)


@dataclass(frozen=True)
class Sum(Fold):
    """The total of a field."""

    field: Field

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The old total and this one's field; a record without the field changes nothing."""
        found = pick(self.field, value)
        return old if found is None else (old or 0) + found

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """Both."""
        return earlier + later


@dataclass(frozen=True)
class Average(Fold):
    """The mean of a field, kept with the sum and count it comes from."""

    field: Field

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Sum and count with this record; a record without the field changes nothing."""
        found = pick(self.field, value)
        if found is None:
            return old
        total = (old["sum"] if old else 0) + found
        count = (old["count"] if old else 0) + 1
        return {"avg": total / count, "count": count, "sum": total}

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The mean of all."""
        total, count = earlier["sum"] + later["sum"], earlier["count"] + later["count"]
        return {"avg": total / count, "count": count, "sum": total}


def pick(field: Field, value: Any) -> Any:
    """The field of a value, or None when it has none."""
    if callable(field):
        return field(value)
    if isinstance(value, Mapping):
        return value.get(field)
    return getattr(value, field, None)


def check_field(field: Field) -> Field:
    """Refuse early what could only fail inside a running job."""
    if isinstance(field, str) or callable(field):
        return field
    raise ConfigError(
        f"{field!r} names no field", hint="give a field's name or a function of the value"
    )
