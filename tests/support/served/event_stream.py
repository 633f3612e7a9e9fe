"""Reads server-sent events as a browser would, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Event:
    """One event; ``id`` is the last id that was seen up to it."""

    name: str
    data: Any
    id: str


@contextmanager
def watching(client: httpx.Client, path: str, last_event_id: str | None = None) -> Iterator[Events]:
    """The events of a watch, from its start event on."""
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    with client.stream("GET", path, headers=headers) as answer:
        if answer.status_code != 200:
            answer.read()
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream"
        yield Events(answer)


class Events:
    """An iterator of events; comments, which keep a connection alive, are counted."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()
        self.heartbeats = 0
        self.id = ""
        self.start = next(self)

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        name, data = "message", ""
        for line in self._lines:
            field, _, value = line.partition(": ")
            if line.startswith(":"):
                self.heartbeats += 1
            elif field == "event":
                name = value
            elif field == "data":
                data += value
            elif field == "id":
                self.id = value
            elif not line and data:
                return Event(name, json.loads(data), self.id)
        raise StopIteration

    def stay_quiet(self, heartbeats: int) -> None:
        """Read so many heartbeats; fails when an event or the end comes before them."""
        end = self.heartbeats + heartbeats
        while self.heartbeats < end:
            line = next(self._lines)
            self.heartbeats += line.startswith(":")
            assert not line.startswith(("event:", "data:")), line

    def take(self, count: int) -> list[Event]:
        """The next so many."""
        return [next(self) for _ in range(count)]
