"""On a machine with several users, the local broker can be for one of them.

It let in every local user, without a way to change that, and what it and the commands wrote below
LASTWORD_HOME could be read, and locked, by all of them.
"""

from __future__ import annotations

import base64
import http.client
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lastword.broker.info import BrokerInfo, find_running
from lastword.jvm import ports
from lastword.testing.waiting import wait_until
from tests.support.network.listening import beyond_loopback, descendants
from tests.support.prepared_home import make_prepared_home
from tests.support.served.up_process import LASTWORD, TIMEOUT_S, Up

UPDATES = "demo-updates-per-user-changelog"


@pytest.fixture(scope="module")
def home(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a running broker that was started with --secure."""
    home = make_prepared_home(tmp_path_factory.mktemp("home"), prepared)
    run(home, "broker", "start", "--secure", "--port", str(ports.free_ports(1)[0]))
    yield home
    run(home, "broker", "stop")


def run(home: Path, *arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [LASTWORD, *arguments],
        env={**os.environ, "LASTWORD_HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def running_in(home: Path) -> BrokerInfo:
    running = find_running(home)
    assert running is not None
    return running


def open_to_others(directory: Path) -> list[Path]:
    """What other users could read, write or enter; the jars are shared between tests."""
    found = []
    for path in (directory, *directory.rglob("*")):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o077:
            found.append(path)
    return found


def test_a_client_without_the_password_is_refused(home: Path) -> None:
    running = running_in(home)
    login = running.login
    assert login is not None
    plain = {"bootstrap.servers": running.bootstrap_servers, "log_level": 0}
    wrong = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": login.username,
        "sasl.password": "wrong",
    }
    controller = {"bootstrap.servers": f"127.0.0.1:{running.nodes[0].controller_port}"}
    for settings in (plain, plain | wrong, plain | controller):
        with pytest.raises(KafkaException):
            AdminClient(settings).list_topics(timeout=2)


def test_a_secure_broker_is_not_mistaken_for_an_open_one(home: Path) -> None:
    assert "client properties" in run(home, "broker", "start"), "no other was asked for"
    assert "runs at" in run(home, "broker", "start", "--open", status=1)


def test_every_command_finds_the_password_and_none_shows_it(home: Path) -> None:
    login = running_in(home).login
    assert login is not None
    shown = run(home, "topic", "create", "people", "-vv")
    shown += run(home, "put", "people", "user-1", "1", "-vv")
    assert "user-1  1" in run(home, "ls", "people")
    shown += run(home, "broker", "status", "-vv")
    assert "answers" in shown
    assert login.password not in shown
    for process in descendants(os.getpid()) + [
        node.process.pid or 0 for node in running_in(home).nodes
    ]:
        command = Path(f"/proc/{process}/cmdline")
        assert login.password.encode() not in (command.read_bytes() if command.exists() else b"")


def test_up_and_its_pipeline_on_spark_run_on_it(home: Path) -> None:
    up = Up(home)
    try:
        up.next_with("url")
        up.run("put", "user-profiles", "user-1", '{"name": "Alice"}')
        assert up.next_with("sources")["records"] == 1
        assert up.run("get", UPDATES, "user-1") == "1\n"
        assert beyond_loopback(up.processes()) == []
        assert up.stop(signal.SIGINT) == (0, "")
        wait_until(up.is_gone, what="Spark to end with the command")
    finally:
        up.close()
    assert running_in(home).secure, "it was there before, and stays"
    ours = [path for path in home.iterdir() if not path.is_symlink()]
    assert {"broker", "logs", "service", "state"} <= {path.name for path in ours}
    assert [path for each in ours for path in open_to_others(each)] == []


def test_metrics_require_their_password(home: Path) -> None:
    (node,) = running_in(home).nodes
    assert node.metrics()
    wrong = base64.b64encode(b"lastword:wrong").decode()
    for headers in ({}, {"Host": "evil.example"}, {"Authorization": f"Basic {wrong}"}):
        connection = http.client.HTTPConnection("127.0.0.1", node.metrics_port, timeout=180)
        connection.request("GET", "/metrics", headers=headers)
        assert connection.getresponse().status == 401
        connection.close()
