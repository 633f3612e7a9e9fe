"""A watch that was open when its token was revoked went on for as long as it liked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lastword.service import Limits, TokenFile
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving
from tests.support.served.event_stream import watching

WATCH = "/tables/table/watch"


@contextmanager
def writing(serving: Serving) -> Iterator[None]:
    """Changes without a pause, so that the watch is never idle."""
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            serving.table.put("key", 1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(180)


def reason_of_the_end(serving: Serving) -> dict[str, Any]:
    """Why a watch ended whose token was revoked once it had begun."""
    tokens = TokenFile(serving.config.tokens_file)
    secret = tokens.create("temporary", {"*": "read"})
    with serving.client(secret) as client, watching(client, WATCH) as events:
        serving.table.put("key", 1)
        assert next(events).name == "put"
        tokens.revoke("temporary")
        lines = iter(events._lines)
        wait_until(lambda: next(lines) == "event: lost", "the watch to end", every=0)
        return dict(json.loads(next(lines).removeprefix("data: ")))


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_watch_ends_within_a_heartbeat_of_the_revocation(serve: Serve, busy: bool) -> None:
    serving = serve(limits=Limits(heartbeat_s=0.3), require_token=True)
    if busy:
        with writing(serving):
            reason = reason_of_the_end(serving)
    else:
        reason = reason_of_the_end(serving)
    assert (reason["name"], reason["status"]) == ("Unauthorized", 401)


def test_a_watch_without_a_token_continues_where_none_is_needed(serve: Serve) -> None:
    serving = serve(limits=Limits(heartbeat_s=0.05))
    tokens = TokenFile(serving.config.tokens_file)
    with serving.client(None) as client, watching(client, WATCH) as events:
        tokens.revoke("test")
        events.stay_quiet(heartbeats=3)
        serving.table.put("key", 1)
        assert next(events).name == "put"
