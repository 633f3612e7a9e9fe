"""The example of an outbox, and the events that it has published."""

from __future__ import annotations

import importlib.util
import json
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

from lastword.kafka.connection import Connection
from tests.support.local_tables.tables import read_raw


def example(name: str) -> ModuleType:
    """A program of examples/, as a module of its own."""
    path = Path(__file__).parents[3] / "examples" / name / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def published(connection: Connection, kind: str) -> dict[str, list[tuple[str, Any]]]:
    """Type and payload by aggregate; no event is there twice."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    ids = set()
    for record in read_raw(connection, f"outbox.event.{kind}"):
        assert record.key is not None
        assert record.value is not None
        event = json.loads(record.value)
        assert event["id"] not in ids
        ids.add(event["id"])
        found[record.key.decode()].append((event["type"], event["payload"]))
    return found
