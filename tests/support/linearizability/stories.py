"""Histories made up by tests, good ones and bad ones: what the checkers are checked with."""

from __future__ import annotations

import random
from typing import Any

from lastword.records import Version
from tests.support.linearizability.history import Kind, Operation, Status
from tests.support.linearizability.log_check import LoggedWrite, check_log


class Story:
    """A history and a log, built step by step with explicit times."""

    def __init__(self) -> None:
        self.history: list[Operation] = []
        self.log: list[LoggedWrite] = []

    def logged(self, value: Any, key: str = "k", request: bytes = b"") -> str:
        version = Version(0, len(self.log))
        self.log.append(LoggedWrite(key, version, value, request))
        return str(version)

    def did(
        self, kind: Kind, begin: int, end: int | None, status: Status = "ok", **more: Any
    ) -> None:
        given: dict[str, Any] = {"key": "k", "invoked_ns": begin} | more
        if end is not None:
            given["completed_ns"] = end
        name = f"op-{len(self.history)}"
        self.history.append(Operation(id=name, kind=kind, status=status, **given))

    def wrong(self) -> list[str]:
        return [each.what for each in check_log(self.history, self.log)]


def put(story: Story, value: Any, begin: int, end: int) -> str:
    """An acknowledged put; its version."""
    version = story.logged(value)
    story.did("put", begin, end, value=value, version=version)
    return version


def transact(story: Story, value: Any, begin: int, end: int, **more: Any) -> tuple[str, str]:
    """An acknowledged transaction on the pair ``k``; its versions."""
    first, second = story.logged(value, "k/first"), story.logged(value, "k/second")
    story.did("transact", begin, end, value=value, version=first, second_version=second, **more)
    return first, second


def simulate(dice: random.Random, steps: int) -> Story:
    """Operations that begin, take effect and end at random moments, as those of a real table."""
    story, clock = Story(), 0
    value: Any = None
    version: str | None = None
    for n in range(steps):
        kind: Kind = dice.choice(["put", "cas", "read", "delete"])
        begin = clock - dice.randrange(50)
        effect = clock = clock + dice.randrange(1, 20)
        end = effect + dice.randrange(1, 50)
        if kind == "read":
            story.did(kind, begin, end, version=version, result=value)
            continue
        if kind == "cas" and dice.random() < 0.3 and version is not None:
            more = {"expected": None, "version": version, "result": value}
            story.did(kind, begin, end, "conflict", value=f"v{n}", **more)
            continue
        new = None if kind == "delete" else f"v{n}"
        more = {"expected": version, "expected_value": value} if kind == "cas" else {}
        at = story.logged(new)
        if dice.random() < 0.2:
            story.did(kind, begin, None, "unknown", value=new, **more)
        else:
            story.did(kind, begin, end, value=new, version=at, **more)
        value, version = new, None if new is None else at
    return story
