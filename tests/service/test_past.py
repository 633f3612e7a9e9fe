"""`?as_of=`: what a table was, over HTTP; exact, bounded, or refused."""

from __future__ import annotations

import httpx

from lastword.clock import SYSTEM_CLOCK
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.records import Position
from lastword.service import Limits
from lastword.testing import wait_until
from tests.service.conftest import Serve
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RealTopic


def past(client: httpx.Client, path: str, as_of: object, **others: str) -> httpx.Response:
    return client.get(path, params={"as_of": str(as_of), **others})


def test_a_key_and_a_page_are_as_they_were_at_a_position_and_at_a_time(serve: Serve) -> None:
    serving = serve()
    table = serving.table
    version = table.put("a", {"n": 1})
    table.put("b", {"n": 1})
    position, at_ms = table.position(), SYSTEM_CLOCK.now_ms()
    wait_until(lambda: SYSTEM_CLOCK.now_ms() > at_ms, "the next millisecond")
    table.put("a", {"n": 2})
    table.delete("b")
    with serving.client() as client:
        for moment in (position, at_ms):
            answer = past(client, "/table/a", moment)
            assert (answer.json(), answer.headers["etag"]) == ({"n": 1}, f'"{version}"')
            first = past(client, "/table", moment, limit="1").json()
            assert [each["key"] for each in first["items"]] == ["a"]
            rest = past(client, "/table", first["position"], cursor=first["next"]).json()
            assert ([each["key"] for each in rest["items"]], rest["next"]) == (["b"], None)
        gone = past(client, "/table/b", table.position())
        assert (gone.status_code, gone.json()["name"]) == (404, "KeyNotFound")
        assert client.get("/table/a").json() == {"n": 2}
        etag = past(client, "/table/a", position).headers["etag"]
        same = client.get(
            "/table/a", params={"as_of": str(position)}, headers={"If-None-Match": etag}
        )
        assert same.status_code == 304


def test_a_moment_that_cannot_be_is_refused(http: httpx.Client) -> None:
    for moment in ("yesterday", "99999999999999", "0:999999", "9:0", "2026-13-01T00:00:00Z"):
        assert past(http, "/users", moment).status_code == 400
    for other in ({"at_least": "0:0"}, {"stale": "true"}):
        assert past(http, "/users/a", 0, **other).json()["name"] == "BadParameter"


def test_a_moment_that_compaction_took_is_gone_for_good(
    serve: Serve, connection: Connection, topic: str
) -> None:
    with Admin(connection) as admin:
        admin.alter(topic, EAGER_COMPACTION)
    real = RealTopic(connection, topic)
    real.produce((b"a", b"1"), (b"a", b"2"), partition=0)
    real.compact_until(lambda log: (b"a", b"1") not in [each[2:] for each in log], "a is cleaned")
    with serve().client() as client:
        answer = past(client, "/table", Position({0: 1, 1: 0, 2: 0}))
    assert (answer.status_code, answer.json()["name"]) == (410, "MomentGoneError")
    assert "the earliest moment that can be answered is" in answer.json()["message"]


def test_a_past_state_that_is_too_large_or_too_slow_is_refused(serve: Serve) -> None:
    for limits, status in ((Limits(as_of_bytes=100), 507), (Limits(as_of_s=0.0), 503)):
        serving = serve(limits=limits)
        serving.table.put("a", "x" * 200)
        with serving.client() as client:
            assert past(client, "/table/a", serving.table.position()).status_code == status


def test_a_table_that_keeps_versions_answers_from_them_and_else_from_the_log(serve: Serve) -> None:
    """No past state is made for what is kept: with no time allowed for it, it would be refused."""
    serving = serve(limits=Limits(as_of_s=0.0), table_options={"versions": 2})
    table = serving.table
    versions = [table.put("a", {"n": n}) for n in range(3)]
    with serving.client() as client:
        for n in (1, 2):
            moment = Position.after(versions[n])
            assert past(client, "/table/a", moment).json() == {"n": n}
        first = past(client, "/table/a", Position.after(versions[0]))
        assert first.status_code == 503, "no longer kept, so the log is asked"
        mixed = past(client, "/table/a", Position.after(versions[1]), stale="true")
        assert mixed.json()["name"] == "BadParameter"
