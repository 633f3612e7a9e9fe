"""Change events as Debezium 3.6.2 wrote them for PostgreSQL 16, long values cut short."""

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


def recorded(table: str) -> dict[int, Recorded]:
    """The records of a table's topic by offset; transaction markers have some of the offsets."""
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    schemas = [_compact(each) for each in found["schemas"]]
    return {
        each["offset"]: Recorded(
            None if each["key"] is None else each["key"].encode(),
            f'{{"schema":{schemas[each["schema"]]},"payload":{_compact(each["payload"])}}}'.encode(),
            each["payload"],
        )
        for each in found["records"]
        if each["topic"] == f"shop.public.{table}"
    }


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
