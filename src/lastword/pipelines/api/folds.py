"""How the records of a key become its value: the user's part of an aggregation.

The semantics are those of Kafka Streams: a fold sees a key's records in offset order, and None
means "no value" on either side. A result of None deletes the key, and the next record starts from
no value again. A null in a record is a value: NULL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from lastword.codecs.null import NULL
from lastword.errors import ConfigError

Field = str | Callable[[Any], Any]
"""What to sum up of a value: the name of a field, or a function of the value."""


BEFORE = -1
"""As the index of the first record: the value existed before the records."""


Folded = tuple[Any, int]
"""A value after some records, and the index of the record that created or deleted it.

The index is BEFORE for a value that existed before the records and was not deleted since. A plain
tuple, because there is one for every key of a batch.
"""


class Fold(ABC):
    """Turns a key's old value and its new records into its new value.

    ``takes_nulls`` says whether the fold sees records without a value when there are no windows:
    Kafka Streams skips them in counts and reductions, except in windows. ``keeps_first`` says
    whether the first value becomes the state unchanged. Without ``reads_values``, only the number
    of records counts, and ``apply`` gets any sequence of that length.
    """

    takes_nulls = False
    keeps_first = False
    reads_values = True

    @property
    def fields(self) -> tuple[str, ...] | None:
        """The members of objects that the fold reads; None if it may read any."""
        return None if self.reads_values else ()

    @abstractmethod
    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The value after one more record."""

    def inputs(self, values: list[Any]) -> list[Any]:
        """What ``apply`` takes of each value: found once for a whole batch."""
        return values

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """The value after all of ``values``, which are ``inputs``."""
        since = BEFORE
        for i, value in enumerate(values):
            new = self.step(key, old, value)
            if (new is None) != (old is None):
                since = i
            old = new
        return old, since

    def join(self, key: Any, sessions: Sequence[Any], value: Any) -> Any:
        """The value of one session made of several, the earliest first, and a record."""
        return self.step(key, self.merge(key, sessions), value)

    def merge(self, key: Any, values: Sequence[Any]) -> Any:
        """One value out of those of several sessions, the earliest first; None for none."""
        merged = None
        for value in values:
            merged = value if merged is None else self.merge_two(key, merged, value)
        return merged

    @abstractmethod
    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """One value out of two."""


class Count(Fold):
    """How many records a key had."""

    reads_values = False

    def step(self, key: Any, old: Any, value: Any) -> int:
        """One more."""
        return (old or 0) + 1

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """Add the number of records at once."""
        return (old or 0) + len(values), 0 if old is None else BEFORE

    def merge_two(self, key: Any, earlier: int, later: int) -> int:
        """Both."""
        return earlier + later


class Latest(Fold):
    """The last value; a record without one deletes the key."""

    takes_nulls = True

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The new value."""
        return value

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """The last value; the others matter only if one of them deletes the key."""
        if None in values:
            return super().apply(key, old, values)
        return values[-1], 0 if old is None else BEFORE

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The later value."""
        return later


class Merge(Fold):
    """Partial updates merged into the full state: fields of the new object replace the old."""

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
    """The user's function of the old and the new value; the first value is kept as it is."""

    keeps_first = True

    reducer: Callable[[Any, Any], Any]

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Reduce with the old value, if there is one."""
        return value if old is None else self.reducer(old, value)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """Reduce as if the later value were a record's."""
        return self.reducer(earlier, later)


@dataclass(frozen=True)
class Aggregate(Fold):
    """The user's function of key, value and aggregate, starting from an initial aggregate."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Aggregate, starting from the initial value if the key is new."""
        return self.aggregator(key, value, self.initializer() if old is None else old)

    def join(self, key: Any, sessions: Sequence[Any], value: Any) -> Any:
        """Merge all, starting from the initial value; a merger's None is passed on."""
        aggregate = self.initializer()
        for each in sessions:
            aggregate = self.merge_two(key, aggregate, each)
        return self.aggregator(key, value, aggregate)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """Call the user's merger, which sessions require."""
        if self.merger is None:
            raise TypeError("this aggregate has no merger")
        return self.merger(key, earlier, later)


@dataclass(frozen=True)
class Extreme(Fold):
    """The minimum or maximum of a field."""

    field: Field
    better: Callable[[Any, Any], Any]

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Only its own, unless a function finds it."""
        return fields_of(self.field)

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """The smaller or larger of the two; a record without the field changes nothing."""
        found = pick(self.field, value)
        if found is None:
            return old
        # A value that was not a number was written as null.
        return found if old is None or old is NULL else self.better(old, found)

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """The smaller or larger of the two."""
        return self.better(earlier, later)


@dataclass(frozen=True)
class Sum(Fold):
    """The total of a field."""

    field: Field

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Only its own, unless a function finds it."""
        return fields_of(self.field)

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Add this record's field to the total; a record without the field changes nothing."""
        found = pick(self.field, value)
        return old if found is None else _number(old) + found

    def inputs(self, values: list[Any]) -> list[Any]:
        """The field by its name. A function is not called yet: it may fail for one key only."""
        return pick_all(self.field, values) if isinstance(self.field, str) else values

    def apply(self, key: Any, old: Any, values: Sequence[Any]) -> Folded:
        """Add one after the other, as ``step`` does: the sum of floats depends on the order."""
        picked = values if isinstance(self.field, str) else list(map(self.field, values))
        found = picked if None not in picked else [each for each in picked if each is not None]
        if not found:
            return old, BEFORE
        first = 0 if found is picked else picked.index(found[0])
        # Not ``sum``, which adds floats in another way.
        return reduce(add, found, _number(old)), first if old is None else BEFORE

    def merge_two(self, key: Any, earlier: Any, later: Any) -> Any:
        """Both."""
        return earlier + later


@dataclass(frozen=True)
class Average(Fold):
    """The mean of a field, stored with its sum and count."""

    field: Field

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Only its own, unless a function finds it."""
        return fields_of(self.field)

    def step(self, key: Any, old: Any, value: Any) -> Any:
        """Add this record to sum and count; a record without the field changes nothing."""
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


def _number(total: Any) -> Any:
    """The total so far. One that was not a number was written as null."""
    return 0 if total is None or total is NULL else total


def fields_of(field: Field) -> tuple[str, ...] | None:
    """The members of objects that ``pick`` reads; None if it may read any."""
    return (field,) if isinstance(field, str) else None


def pick(field: Field, value: Any) -> Any:
    """The field of a value; None if the value lacks it."""
    if callable(field):
        return field(value)
    if isinstance(value, Mapping):
        return value.get(field)
    return getattr(value, field, None)


def pick_all(field: str, values: list[Any]) -> list[Any]:
    """The field of each value, as ``pick`` finds it."""
    if set(map(type, values)) == {dict}:
        return [value.get(field) for value in values]
    return [pick(field, value) for value in values]


def check_field(field: Field) -> Field:
    """Raise ConfigError here rather than fail on an executor."""
    if isinstance(field, str) or callable(field):
        return field
    raise ConfigError(
        f"{field!r} is not a field", hint="give a field's name or a function of the value"
    )
