"""What other processes do with the patterns; each function runs in a separate process."""

from __future__ import annotations

import os
import time
from pathlib import Path
from queue import SimpleQueue

import msgspec

from lastword.kafka.connection import Connection
from lastword.patterns import Cache, ConfigStore, MaterializedView, SessionStore
from lastword.table.table import Table
from lastword.testing import wait_until

PATIENT_S = 180.0


class Limits(msgspec.Struct):
    """Settings for tests."""

    retries: int = 3
    greeting: str = "hello"


def open_table(bootstrap_servers: str, topic: str, state_dir: str) -> Table:
    """An owned table; all processes of a test are instances of one application."""
    return Table(
        topic,
        connection=Connection(bootstrap_servers=bootstrap_servers),
        application_id=topic,
        state_dir=Path(state_dir) / str(os.getpid()),
        writes="owned",
        versions=20,
    )


def add_fields(place: tuple[str, str, str], prefix: str, count: int) -> None:
    """Add fields of this process to one document."""
    with open_table(*place) as table:
        view = MaterializedView(table)
        for number in range(count):
            view.update("profile", {f"{prefix}-{number}": number})


def compute_once(place: tuple[str, str, str], keys: int, computed: str) -> list[str]:
    """Get every key, and leave a file behind for each that was computed here."""
    found = []
    with open_table(*place) as table:
        cache = Cache(table, ttl="1h")
        for number in range(keys):

            def compute(number: int = number) -> str:
                Path(computed, f"{number}-{os.getpid()}").touch()
                return f"value-{number}"

            found.append(cache.get_or_compute(f"key-{number}", compute))
    return found


def set_retries(place: tuple[str, str, str], retries: int) -> str:
    """Change a setting; its version."""
    with open_table(*place) as table:
        return str(ConfigStore(table, Limits).set("retries", retries))


def hear_of_retries(place: tuple[str, str, str], following: str) -> tuple[int, list[str], float]:
    """The first change of a setting that is heard here, and when, by the monotonic clock."""
    heard: SimpleQueue[tuple[int, list[str], float]] = SimpleQueue()
    with open_table(*place) as table, ConfigStore(table, Limits) as config:
        config.on_change(
            lambda now, names: heard.put((now.retries, sorted(names), time.monotonic()))
        )
        Path(following).touch()
        return heard.get(timeout=PATIENT_S)


def compute_when_invalidated(place: tuple[str, str, str], key: str, cached: str) -> str:
    """Have the value of another process, until that one invalidates it; then compute another."""
    with open_table(*place) as table:
        cache = Cache(table, ttl="1h")
        wait_until(lambda: cache.get(key) is not None, "the value", timeout=PATIENT_S)
        Path(cached).touch()
        wait_until(lambda: cache.get(key) is None, "the invalidation", timeout=PATIENT_S)
        return str(cache.get_or_compute(key, lambda: "computed there"))


def note_in_session(place: tuple[str, str, str], session_id: str, name: str) -> bool:
    """Add a field to a session; whether it was still there."""
    with open_table(*place) as table:
        return SessionStore(table).update(session_id, {name: True}) is not None
