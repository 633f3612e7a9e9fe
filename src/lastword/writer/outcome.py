"""The outcome of a write.

The cases are an open set: a path that checks conditions has more of them than one that appends.
Code that reports outcomes uses ``status``, ``version`` and ``error``, which every case has; code
that acts on a case checks its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from lastword.errors import IndeterminateError, LastwordError, NotUpToPositionError, WriteError
from lastword.records import Version, Write


@dataclass(frozen=True, slots=True)
class Outcome(ABC):
    """The outcome of one record; ``status`` names the case in one word."""

    key: Any
    status: ClassVar[str]

    @property
    def version(self) -> Version | None:
        """The version of the record; None if it was not written, or if that is unknown."""
        return None

    @property
    def error(self) -> LastwordError | None:
        """What went wrong; None if nothing did."""
        return None

    @abstractmethod
    def raise_or_version(self) -> Version:
        """The version of a record that was written as asked; raises ``error`` otherwise."""

    def with_key(self, key: Any) -> Self:
        """The same outcome under the caller's name for the key."""
        return replace(self, key=key)


# A field that replaces a property of Outcome needs `field()`: the property would be its default.


@dataclass(frozen=True, slots=True)
class Acknowledged(Outcome):
    """Written: the cluster has acknowledged it, and a path that waits has read it back."""

    status: ClassVar[str] = "ok"
    version: Version = field()

    def raise_or_version(self) -> Version:
        """The version."""
        return self.version

    def with_key(self, key: Any) -> Acknowledged:
        """The same outcome under the caller's name for the key."""
        return Acknowledged(key, self.version)  # most outcomes are this one: `replace` is slower


@dataclass(frozen=True, slots=True)
class Trouble(Outcome):
    """An outcome that is not a success."""

    error: LastwordError = field()

    def raise_or_version(self) -> Version:
        """Raises ``error``."""
        raise self.error


@dataclass(frozen=True, slots=True)
class Unread(Trouble):
    """Acknowledged, but this table has not read it back in time. Do not write it again."""

    status: ClassVar[str] = "unread"
    error: NotUpToPositionError = field()
    version: Version = field()


@dataclass(frozen=True, slots=True)
class Failed(Trouble):
    """Not written."""

    status: ClassVar[str] = "failed"


@dataclass(frozen=True, slots=True)
class Indeterminate(Trouble):
    """No answer in time: it may or may not have been written."""

    status: ClassVar[str] = "indeterminate"
    error: IndeterminateError = field()


def outcome_of(key: Any, delivery: Version | WriteError) -> Outcome:
    """The outcome for a producer's answer."""
    if isinstance(delivery, Version):
        return Acknowledged(key, delivery)
    if isinstance(delivery, IndeterminateError):
        return Indeterminate(key, delivery)
    return Failed(key, delivery)


def write_each(
    write: Callable[[Sequence[Write]], list[Outcome]],
    items: Iterable[tuple[Any, Write | LastwordError]],
) -> list[Outcome]:
    """Write the records among ``items``; an outcome for each item, under the key given with it.

    An item that is an error, because it could not be encoded, fails alone.
    """
    prepared = list(items)
    written = iter(write([each for _, each in prepared if isinstance(each, Write)]))
    return [
        next(written).with_key(key) if isinstance(each, Write) else Failed(key, each)
        for key, each in prepared
    ]
