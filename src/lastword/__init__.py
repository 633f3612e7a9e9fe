"""Compacted Kafka topics as tables: query them, write safely, watch, rebuild in seconds.

Every name here is loaded when it is first used, so that importing the package, and starting the
command line, costs nothing that is not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lastword import errors
    from lastword.client.connecting import connect, connect_async
    from lastword.errors import LastwordError
    from lastword.kafka.admin import Admin
    from lastword.kafka.connection import Connection
    from lastword.records import ABSENT, Position, Record, Version
    from lastword.stores.base import Capabilities, Store
    from lastword.table.entry import Answer, Change, Entry
    from lastword.table.table import Table
    from lastword.table.table_state import TableState
    from lastword.table.writing.conditions import TOMBSTONE
    from lastword.table.writing.election import election
    from lastword.topics.creation import create_topic
    from lastword.writer.event_log import EventLog
    from lastword.writer.outcome import Outcome

_HOMES = {
    "ABSENT": "lastword.records",
    "Admin": "lastword.kafka.admin",
    "Answer": "lastword.table.entry",
    "Capabilities": "lastword.stores.base",
    "Change": "lastword.table.entry",
    "Connection": "lastword.kafka.connection",
    "Entry": "lastword.table.entry",
    "EventLog": "lastword.writer.event_log",
    "LastwordError": "lastword.errors",
    "Outcome": "lastword.writer.outcome",
    "Position": "lastword.records",
    "Record": "lastword.records",
    "Store": "lastword.stores.base",
    "TOMBSTONE": "lastword.table.writing.conditions",
    "Table": "lastword.table.table",
    "TableState": "lastword.table.table_state",
    "Version": "lastword.records",
    "connect": "lastword.client.connecting",
    "connect_async": "lastword.client.connecting",
    "create_topic": "lastword.topics.creation",
    "election": "lastword.table.writing.election",
}

__all__ = [
    "ABSENT",
    "TOMBSTONE",
    "Admin",
    "Answer",
    "Capabilities",
    "Change",
    "Connection",
    "Entry",
    "EventLog",
    "LastwordError",
    "Outcome",
    "Position",
    "Record",
    "Store",
    "Table",
    "TableState",
    "Version",
    "connect",
    "connect_async",
    "create_topic",
    "election",
    "errors",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("lastword.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'lastword' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
