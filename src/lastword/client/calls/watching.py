"""Reads the events of a watch, and knows where to resume when the connection breaks."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec

from lastword.client.forms import Forms, Item
from lastword.client.http.messages import HttpRequest
from lastword.client.problems import Problem, named_error
from lastword.errors import LastwordError
from lastword.records import Position
from lastword.table.entry import Change

# A watch without changes gets a heartbeat every 15 seconds.
SILENCE_S = 45.0


class Event(NamedTuple):
    """One server-sent event; ``id`` is the last one seen up to it."""

    name: str
    data: bytes
    id: str


class EventReader:
    """Turns the bytes of a stream into events; ``id`` is the position of the stream."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete with these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = []
        for line in lines:
            field, _, text = line.partition(b":")
            value = text.removeprefix(b" ")
            if not line:
                if self._data:
                    events.append(Event(self._name, b"\n".join(self._data), self.id))
                self._name, self._data = "", []
            elif field == b"id":
                self.id = value.decode("latin-1")
            elif field == b"event":
                self._name = value.decode("latin-1")
            elif field == b"data":
                self._data.append(value)
        return events


class ChangeReader:
    """The changes of one watch over all its connections, each of them once.

    ``position`` is that after the last change taken. After a broken connection, the next one
    resumes at the last id received.
    """

    def __init__(self, forms: Forms, start: Position | None) -> None:
        self._forms = forms
        self._text = "" if start is None else str(start)
        self._events = EventReader(self._text)
        self._ready: deque[tuple[Change | LastwordError, str]] = deque()

    @property
    def begun(self) -> bool:
        """Whether the start of the watch is known: before that it cannot be resumed."""
        return bool(self._events.id)

    @property
    def position(self) -> Position:
        """Where another watch continues after the last change taken."""
        return Position.parse(self._text)

    def request(self) -> HttpRequest:
        """The request of the next connection."""
        self._events = EventReader(self._events.id)
        id = self._events.id
        headers = (("accept", "text/event-stream"), *((("last-event-id", id),) if id else ()))
        return HttpRequest("GET", f"/tables/{self._forms.info.name}/watch", headers=headers)

    def feed(self, data: bytes) -> bool:
        """Add received bytes; return whether the watch must resume on another connection."""
        resume = False
        for event in self._events.feed(data):
            if event.name == "lost":
                error = named_error(msgspec.json.decode(event.data, type=Problem), 410)
                if error.retriable:
                    resume = True
                else:
                    self._ready.append((error, event.id))
            elif event.name in ("put", "delete"):
                item = msgspec.json.decode(event.data, type=Item)
                change = self._change(item, deleted=event.name == "delete")
                self._ready.append((change, event.id))
        if not self._ready and self._events.id:
            self._text = self._events.id
        return resume

    def take(self) -> Change | None:
        """The next received change, if there is one; raises the error that ended the watch."""
        if not self._ready:
            return None
        change, self._text = self._ready.popleft()
        if isinstance(change, LastwordError):
            raise change
        return change

    def _change(self, item: Item, *, deleted: bool) -> Change | LastwordError:
        try:
            return self._forms.change(item, deleted=deleted)
        except LastwordError as error:
            return error
