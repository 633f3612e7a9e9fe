"""What only a client has: paging, resuming, lost answers, rights, coroutines."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lastword as lw
from lastword.client import RemoteTable
from lastword.client.remote_watch import RemoteWatch
from lastword.errors import (
    ConfigError,
    ConflictError,
    ConnectionFailedError,
    IndeterminateError,
    RequestRefusedError,
    TableClosedError,
    WatchLostError,
)
from lastword.jvm.ports import free_ports
from lastword.records import ABSENT, Position
from lastword.service import TlsFiles
from lastword.testing import wait_until
from lastword.testing.certificates import make_certificates
from tests.service.client.conftest import Lab
from tests.service.conftest import Serve
from tests.support.coroutines import run_coroutine
from tests.support.network.cutting_relay import CuttingRelay

WAIT_S = 180.0


@pytest.fixture
def client(lab: Lab) -> Iterator[RemoteTable]:
    with lab.connect("calls") as client:
        yield client


@pytest.fixture
def relay(lab: Lab) -> Iterator[CuttingRelay]:
    with CuttingRelay(int(lab.url.rpartition(":")[2])) as relay:
        yield relay


def through(relay: CuttingRelay, lab: Lab) -> RemoteTable:
    url = f"http://127.0.0.1:{relay.port}/tables/served-calls"
    return lw.connect(url, token=lab.token)


def test_a_scan_goes_through_every_page(lab: Lab) -> None:
    values = {f"page-{number:05}": number for number in range(2500)}
    with lab.connect("direct") as client:
        assert {each.status for each in client.put_many(values)} == {"ok"}
        assert list(client.prefix("page-")) == list(values.items())
        backwards = client.range("page-", "page-9", reverse=True)
        assert [value for _, value in backwards] == list(reversed(values.values()))
        assert backwards.position.at_least(Position({0: 1})), "what the page reflects"
        assert client.get_many(values) == values, "more keys than one request takes"


def test_a_past_state_is_read_as_it_was(client: RemoteTable) -> None:
    client.put("past-a", 1)
    then = client.put("past-b", 1)
    moment = int(time.time() * 1000) + 1
    while int(time.time() * 1000) <= moment:
        pass
    client.put("past-a", 2)
    past = client.as_of(moment)
    assert past["past-a"] == 1
    assert client.get("past-a", at=moment) == 1
    assert "past-none" not in past
    assert dict(past.items())["past-b"] == 1
    assert [entry.value for entry in past.scan(prefix="past-")] == [1, 1]
    assert client.as_of(then).get("past-b") == 1


def taken(watch: RemoteWatch, count: int) -> list[tuple[str, object]]:
    changes = [watch.take(WAIT_S) for _ in range(count)]
    return [(each.key, None if each.deleted else each.value) for each in changes if each]


def test_a_watch_resumes_after_its_connection_was_cut(lab: Lab, relay: CuttingRelay) -> None:
    expected: list[tuple[str, object]] = []
    seen: list[tuple[str, object]] = []
    with through(relay, lab) as client, lab.connect("calls") as writer, client.watch() as watch:
        for number in range(5):
            writer.put("watched", number)
            writer.delete("watched")
            expected += [("watched", number), ("watched", None)]
            seen += taken(watch, 1)
            relay.cut()
            seen += taken(watch, 1)
        assert seen == expected
        position = watch.position
        writer.put("watched", "later")
        with client.watch(position) as again:
            assert taken(again, 1) == [("watched", "later")]


def test_a_watch_ends_when_another_thread_closes_it(client: RemoteTable) -> None:
    watch = client.watch()
    assert watch.take(0.01) is None
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(list, watch)
        watch.close()
        assert reading.result(WAIT_S) == []


def test_a_watch_from_a_position_of_another_topic_is_lost(client: RemoteTable) -> None:
    with pytest.raises(WatchLostError):
        client.watch(Position({0: 0}, "another-topic", 1))


def test_a_write_whose_answer_is_lost_is_indeterminate_and_sent_once(
    lab: Lab, relay: CuttingRelay
) -> None:
    with through(relay, lab) as client:
        relay.losing_answers = True
        before = relay.requests
        with pytest.raises(IndeterminateError):
            client.increment("lost")
        assert relay.requests == before + 1
        relay.losing_answers = False
        assert client.get("lost", consistency="linearizable") == 1


def test_a_conditional_write_happens_once_although_its_answer_is_lost(
    lab: Lab, relay: CuttingRelay
) -> None:
    with through(relay, lab) as client, lab.connect("calls") as other:
        relay.losing_answers = True
        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(client.put, "once", 1, if_version=ABSENT)
            wait_until(lambda: relay.lost > 0, "the answer is lost")
            relay.losing_answers = False
            with pytest.raises(IndeterminateError):
                writing.result(WAIT_S)
        assert other.get("once") == 1


def test_an_update_of_many_threads_loses_nothing(lab: Lab) -> None:
    with lab.connect("calls") as client, ThreadPoolExecutor(4) as threads:

        def add(_: int) -> None:
            client.update("shared", lambda n: n + 1, default=0)

        list(threads.map(add, range(20), timeout=WAIT_S))
        assert client["shared"] == 20


def test_the_version_of_a_conflict_can_be_written_with(client: RemoteTable) -> None:
    client.put("meet", {"n": 1})
    with pytest.raises(ConflictError) as caught:
        client.put("meet", {"n": 2}, if_version=ABSENT)
    assert caught.value.current.value == {"n": 1}
    assert caught.value.hint is not None
    client.put("meet", {"n": 2}, if_version=caught.value.current.version)
    assert client["meet"] == {"n": 2}


def test_rights_and_addresses_are_refused_without_showing_the_token(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "wrong-token-that-is-secret"
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(RequestRefusedError) as refused:
            lw.connect(f"{lab.url}/tables/served-calls", token=wrong)
        assert refused.value.status == 401
        with pytest.raises(ConfigError) as missing:
            lw.connect(f"{lab.url}/nothing", token=lab.token)
        with pytest.raises(ConnectionFailedError) as silent:
            lw.connect(f"http://127.0.0.1:{free_ports(1)[0]}", token=wrong, timeout="300ms")
        with lab.connect("calls") as client:
            shown = repr(client) + repr(vars(client)) + repr(vars(client._pools.base))
    errors = [refused.value, missing.value, silent.value]
    told = caplog.text + shown + "".join(f"{each}{each.hint}{each!r}" for each in errors)
    assert wrong not in told
    assert lab.token not in told
    assert "served-calls" in (missing.value.hint or ""), "what there is instead"


def test_a_closed_client_says_so(lab: Lab) -> None:
    client = lab.connect("calls")
    client.close()
    client.close()
    with pytest.raises(TableClosedError):
        client.get("a")


def test_tls_is_spoken_with_the_authority_that_is_named(serve: Serve, tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "certificates")
    serving = serve(tls=TlsFiles(files.server, files.server))
    url = f"https://localhost:{serving.config.port}/table"
    with lw.connect(url, token=serving.token, ca=files.authority) as client:
        client.put("a", 1)
        assert client["a"] == 1
        with client.watch() as watch:
            client.put("a", 2)
            assert taken(watch, 1) == [("a", 2)]
    with pytest.raises(ConnectionFailedError, match="certificate"):
        lw.connect(url, token=serving.token, timeout="300ms")


def test_coroutines_have_the_same_calls(lab: Lab, relay: CuttingRelay) -> None:
    url = f"http://127.0.0.1:{relay.port}/tables/served-calls"

    async def use() -> None:
        async with lw.connect_async(url, token=lab.token) as users:
            version = await users.put("async-a", 1)
            entry = await users.entry("async-a")
            assert entry is not None
            assert (entry.value, entry.version) == (1, version)
            assert await users.put("async-b", 2, if_version=ABSENT)
            with pytest.raises(ConflictError):
                await users.put("async-b", 3, if_version=ABSENT)
            assert await users.get_many(["async-a", "async-b", "none"]) == {
                "async-a": 1,
                "async-b": 2,
            }
            assert [pair async for pair in users.prefix("async-")] == [
                ("async-a", 1),
                ("async-b", 2),
            ]
            assert (await users.increment("async-a", 4)).value == 5
            assert await users.contains("async-a")
            assert await users.count() >= 2
            assert [each.status for each in await users.put_many({"async-c": 1})] == ["ok"]
            many = await asyncio.gather(*(users.get("async-a") for _ in range(50)))
            assert many == [5] * 50
            async with users.watch() as watch:
                await users.delete("async-c")
                relay.cut()
                change = await watch.take(WAIT_S)
                assert change is not None
                assert (change.key, change.deleted) == ("async-c", True)
        with pytest.raises(TableClosedError):
            await users.get("async-a")

    run_coroutine(use())
