"""What a driver and its long tasks say to each other: JSON lines over one connection per task."""

from __future__ import annotations

import msgspec

from lastword.pipelines.task.task_report import TaskReport

LINE_BYTES_MAX = 4 << 20


class Hello(msgspec.Struct, tag=True, frozen=True):
    """The first line of a task; the token proves that the driver has sent it."""

    token: str
    task: int


class Reports(msgspec.Struct, tag=True, frozen=True):
    """What a task has committed since its last report."""

    reports: list[TaskReport]


class AskMembership(msgspec.Struct, tag=True, frozen=True):
    """A commit was refused: has the generation of the driver's membership changed?"""


class Membership(msgspec.Struct, tag=True, frozen=True):
    """The proof of the driver's membership that commits must carry."""

    metadata: bytes


class Stop(msgspec.Struct, tag=True, frozen=True):
    """End now. ``superseded`` says that another attempt of the task has taken its place."""

    superseded: bool = False


ToDriver = Hello | Reports | AskMembership
ToTask = Membership | Stop

TO_DRIVER = msgspec.json.Decoder(ToDriver)
TO_TASK = msgspec.json.Decoder(ToTask)


def as_line(message: ToDriver | ToTask) -> bytes:
    """The message with the end of its line."""
    return msgspec.json.encode(message) + b"\n"
