"""What became of each record of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lastword.errors import IndeterminateError, LastwordError
from lastword.records import Version


@dataclass(frozen=True, slots=True)
class Outcome:
    """One key's part of a batch: written at ``version``, or ``error`` says what is known."""

    key: Any
    version: Version | None = None
    error: LastwordError | None = None

    @property
    def status(self) -> Literal["ok", "unread", "failed", "indeterminate"]:
        """What is known of the record.

        ok             written, and readable here
        unread         written, but this table has not read it back in time
        failed         not written
        indeterminate  no answer in time: it may or may not have been written
        """
        if self.error is None:
            return "ok"
        if self.version is not None:
            return "unread"
        return "indeterminate" if isinstance(self.error, IndeterminateError) else "failed"
