"""Several instances over the same topics: they agree, and each can go and come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.service import Limits
from tests.service.conftest import Serve
from tests.support.served.service_process import ServiceProcess


@pytest.fixture(params=["memory", "rocksdb"])
def pair(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> Iterator[tuple[ServiceProcess, ServiceProcess]]:
    """Two instances, each with its own state directory."""
    tables = {"users": {"topic": topic, "mount": "/users", "store": request.param}}
    instances = tuple(
        ServiceProcess(tmp_path / name, broker.bootstrap_servers, tables) for name in ("a", "b")
    )
    try:
        for instance in instances:
            instance.launch()
        for instance in instances:
            instance.wait_ready()
        yield instances[0], instances[1]
    finally:
        for instance in instances:
            instance.stop()


def everything(instance: ServiceProcess, at_least: str) -> dict[str, object]:
    with instance.client() as client:
        page = client.get("/users", params={"limit": 1000, "at_least": at_least}).json()
    return {item["key"]: item["value"] for item in page["items"]}


def test_two_instances_agree_and_either_can_be_stopped_and_restarted(
    pair: tuple[ServiceProcess, ServiceProcess],
) -> None:
    clients = [each.client(each.token("test", {"*": "write"})) for each in pair]
    with clients[0], clients[1]:
        expected: dict[str, object] = {}
        for round_ in range(2):
            for number, client in enumerate(clients):
                key = f"{round_}-{number}"
                client.put(f"/users/{key}", json=round_)
                version = client.put("/users/shared", json=key).json()["version"]
                expected |= {key: round_, "shared": key}
                # What one instance acknowledged, the other shows when asked to wait for it.
                other = clients[1 - number]
                answer = other.get("/users/shared", params={"at_least": version})
                assert (answer.status_code, answer.json()) == (200, key)
                assert answer.headers["etag"] == f'"{version}"'
        assert everything(pair[0], version) == everything(pair[1], version) == expected

        for stopped, running in ((0, 1), (1, 0)):
            if stopped == 0:
                assert pair[stopped].stop() == 0
            else:
                pair[stopped].kill()
            key = f"while {stopped} was away"
            version = clients[running].put(f"/users/{key}", json=1).json()["version"]
            clients[running].delete("/users/0-0")
            expected[key] = 1
            expected.pop("0-0", None)
            pair[stopped].start()
            assert everything(pair[stopped], version) == expected


def test_a_position_that_is_not_reached_in_time_is_answered_so(serve: Serve) -> None:
    serving = serve(limits=Limits(at_least_s=0.2))
    version = serving.table.put("a", 1)
    with serving.client() as client:
        beyond = f"{version.partition}:{version.offset + 1000}"
        for path in ("/table/a", "/table", "/table/count"):
            assert client.get(path, params={"at_least": str(version)}).status_code == 200
            answer = client.get(path, params={"at_least": beyond})
            assert (answer.status_code, answer.json()["name"]) == (503, "NotUpToPositionError")
            assert answer.json()["retriable"] is True
        unknown = client.get("/table/a", params={"at_least": "99:0"})
        assert (unknown.status_code, unknown.json()["name"]) == (400, "UnknownPartition")


def test_the_instance_describes_itself(server: ServiceProcess, http: httpx.Client) -> None:
    (instance,) = http.get("/instances").json()["instances"]
    assert instance["url"] == server.url
    assert instance["this"] is True
    assert "users" in instance["tables"]
    assert instance["uptime_seconds"] > 0
