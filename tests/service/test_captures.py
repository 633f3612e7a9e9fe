"""The captures that ``lastword serve`` monitors: who sees them, and what is not told."""

from __future__ import annotations

from typing import Any

import httpx

from lastword.testing import wait_until
from tests.service.conftest import CAPTURES, Tokens
from tests.support.served.service_process import ServiceProcess


def captures_for(server: ServiceProcess, token: str | None) -> list[dict[str, Any]]:
    with server.client(token) as client:
        answer = client.get("/captures")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["captures"]
        return found


def test_a_capture_of_the_settings_is_monitored_even_while_its_worker_is_down(
    server: ServiceProcess, http: httpx.Client
) -> None:
    def problems() -> list[str]:
        (capture,) = http.get("/captures").json()["captures"]
        shown = capture["capture"], capture["source"], capture["table"], capture["slot_bytes"]
        assert shown == ("mirror", "127.0.0.1:1/shop", "public.orders", None)
        found: list[str] = capture["problems"]
        return found

    wait_until(problems, "the first look", timeout=180.0)
    assert problems() == ["no Connect worker runs on this machine"]
    assert 'cdc_running{capture="mirror",source="public.orders"} 0' in http.get("/metrics").text
    password = CAPTURES["mirror"]["url"].split(":")[2].split("@")[0]
    assert password not in http.get("/captures").text + server.log


def test_a_capture_is_shown_to_those_who_may_read_its_table(
    server: ServiceProcess, tokens: Tokens
) -> None:
    assert captures_for(server, tokens.users_only) == []
    assert [each["capture"] for each in captures_for(server, tokens.read)] == ["mirror"]
    assert len(captures_for(server, None)) == 1, "reads need no token here"
