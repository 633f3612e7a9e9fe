"""Versions of a class whose values are in a topic, and how an old document becomes a new one.

    class Profile(msgspec.Struct):
        name: str
        age: int | None = None

        @upgrade(from_version=1)
        def _first_and_last(old):
            return {"name": f"{old['first']} {old['last']}"}

A step turns the document of one version, a dict, into that of the next. The class has the version
after its last step, or the one that ``__schema_version__`` says. A document says its version in
the member ``$version``; without one it has version 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lastword.errors import ConfigError, DecodeError

VERSION_MEMBER = "$version"
_MARK = "__lastword_from_version__"
_DECLARED = "__schema_version__"

Document = dict[str, Any]
Step = Callable[[Document], Document]


def upgrade(*, from_version: int) -> Callable[[Step], Any]:
    """Mark a function in the body of a class as the step from that version to the next one.

    It gets the document as a dict, and returns the document of the next version.
    """
    if not isinstance(from_version, int) or from_version < 1:
        raise ConfigError(
            f"from_version={from_version!r} is not a version", hint="versions are 1, 2, 3, ..."
        )

    def marked(step: Step) -> Any:
        setattr(step, _MARK, from_version)
        return staticmethod(step)

    return marked


class Evolution:
    """The version of one class, and the steps that lead to it."""

    def __init__(self, type: type[Any]) -> None:
        self._name = type.__name__
        self._steps = _steps_of(type)
        newest = max(self._steps, default=0) + 1
        self.version = int(getattr(type, _DECLARED, newest))
        if self.version < newest:
            raise ConfigError(
                f"{self._name} has version {self.version} and a step from version {newest - 1}",
                hint=f"set {_DECLARED} to {newest} or more, or leave it out",
            )

    def upgraded(self, document: Any, version: int) -> Any:
        """The document as this version of the class has it; raises DecodeError.

        A document of a newer version stays as it is: whoever reads it sees whether it fits.
        """
        for number in range(version, self.version):
            step = self._steps.get(number)
            if step is not None:
                document = self._taken(step, number, document)
        return document

    def _taken(self, step: Step, number: int, document: Any) -> Document:
        try:
            after = step(document)
        except Exception as error:
            raise DecodeError(
                f"the step of {self._name} from version {number} failed: "
                f"{type(error).__name__}: {error}",
                hint="correct the step, or the record",
            ) from error
        if not isinstance(after, dict):
            raise DecodeError(
                f"the step of {self._name} from version {number} returned "
                f"{type(after).__name__}, not a dict",
                hint="return the document of the next version",
            )
        return after


def split_version(document: Any) -> tuple[Any, int]:
    """The document without the version it states, and that version; raises DecodeError."""
    if not isinstance(document, dict) or VERSION_MEMBER not in document:
        return document, 1
    rest = dict(document)
    version = rest.pop(VERSION_MEMBER)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DecodeError(
            f"{VERSION_MEMBER} is {version!r:.50}, not a version", hint="repair the record's writer"
        )
    return rest, version


def _steps_of(type: type[Any]) -> Mapping[int, Step]:
    steps: dict[int, Step] = {}
    for parent in reversed(type.__mro__):
        own: dict[int, str] = {}
        for name, member in vars(parent).items():
            step = member.__func__ if isinstance(member, staticmethod) else member
            number = vars(step).get(_MARK) if callable(step) and hasattr(step, "__dict__") else None
            if number is None:
                continue
            if number in own:
                raise ConfigError(
                    f"{type.__name__} has two steps from version {number}: {own[number]}, {name}",
                    hint="one step leads from each version to the next",
                )
            own[number], steps[number] = name, step
    return steps
