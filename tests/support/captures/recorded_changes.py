"""Change events as Debezium 3.6.2 wrote them for PostgreSQL 16, long values cut short.

``shop`` has the settings of our own connector, the others those that a user may have:

defaults   Debezium's own
connect    time.precision.mode=connect
nanos      time.precision.mode=nanoseconds, binary.handling.mode=hex
doubles    decimal.handling.mode=double, and the types of the source are propagated
plain      Debezium's own, and no schemas
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).with_name("recorded_changes.json")


class Recorded(NamedTuple):
    """One record of a source topic."""

    key: bytes | None
    value: bytes
    payload: dict[str, Any]


def recorded(table: str, connector: str = "shop") -> dict[int, Recorded]:
    """The records of a table's topic by offset; transaction markers have some of the offsets."""
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    schemas = found["schemas"]
    return {
        each["offset"]: Recorded(
            None if each["key"] is None else each["key"].encode(),
            _value(None if each["schema"] is None else schemas[each["schema"]], each["payload"]),
            each["payload"],
        )
        for each in found["records"]
        if each["topic"] == f"{connector}.public.{table}"
    }


def _value(schema: Any, payload: Any) -> bytes:
    document = _compact(payload)
    if schema is not None:
        document = f'{{"schema":{_compact(schema)},"payload":{document}}}'
    return document.encode()


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
