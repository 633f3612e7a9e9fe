"""Checks records before they are sent, for errors that no broker would refuse."""

from __future__ import annotations

from typing import Any

from lastword.errors import InvalidRecordError
from lastword.records import FENCE_KEY, Write


def why_invalid(record: Write) -> InvalidRecordError | None:
    """Why ``record`` cannot be written by an unconditional append, or None."""
    key, _, headers, timestamp_ms, _, expected, _ = record
    if not key:
        return InvalidRecordError(
            "a record of a table needs a key of at least one byte",
            hint="compaction keeps the last record per key; without a key there is none",
        )
    if key == FENCE_KEY:
        return InvalidRecordError(
            f"the key {FENCE_KEY!r} is reserved for fence records",
            hint="use another key; no table shows this one",
        )
    if expected is not None:
        return InvalidRecordError(
            "this writer cannot check the version of a key before it writes",
            hint="open the table with writes='owned' or writes='conditional', or omit the "
            "condition",
        )
    if timestamp_ms is not None and timestamp_ms <= 0:
        # To librdkafka 0 means "now": better refused than silently replaced.
        return InvalidRecordError(
            f"a record cannot have the timestamp {timestamp_ms}",
            hint="give milliseconds since the epoch from 1 up, or None for the time of writing",
        )
    if headers and not all(map(_is_header, headers)):
        return InvalidRecordError(
            f"{headers!r} are not headers of a record",
            hint="give pairs of a name and bytes or None: headers=(('trace', b'42'),)",
        )
    return None


def _is_header(header: Any) -> bool:
    if type(header) is tuple and len(header) == 2:  # almost always
        name, value = header
        return isinstance(name, str) and (value is None or isinstance(value, bytes))
    match header:
        case (str(), bytes() | None):
            return True
    return False
