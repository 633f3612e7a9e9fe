"""The messages between a driver and its long tasks: JSON lines, one connection per task."""

from __future__ import annotations

import msgspec

from lastword.pipelines.task.task_report import TaskReport

LINE_BYTES_MAX = 4 << 20


class TaskHello(msgspec.Struct, tag=True, frozen=True):
    """The first line of a task; the token proves that this driver started it."""

    token: str
    task: int


class TaskReports(msgspec.Struct, tag=True, frozen=True):
    """The commits of a task since its last report."""

    reports: list[TaskReport]


class AskMembership(msgspec.Struct, tag=True, frozen=True):
    """Asks for the current membership, after a commit was refused."""


class MembershipProof(msgspec.Struct, tag=True, frozen=True):
    """The proof of the driver's membership that commits must carry."""

    metadata: bytes


class Stop(msgspec.Struct, tag=True, frozen=True):
    """Ends the task. ``superseded``: another attempt of the task has replaced it."""

    superseded: bool = False


ToDriver = TaskHello | TaskReports | AskMembership
ToTask = MembershipProof | Stop

TO_DRIVER = msgspec.json.Decoder(ToDriver)
TO_TASK = msgspec.json.Decoder(ToTask)


def as_line(message: ToDriver | ToTask) -> bytes:
    """The message as a line with its end."""
    return msgspec.json.encode(message) + b"\n"
