"""``lastword broker start`` leaves a broker running that every other command finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from lastword.broker.info import find_running
from lastword.jvm.ports import free_ports
from tests.support.prepared_home import make_prepared_home

LASTWORD = str(Path(sys.executable).with_name("lastword"))


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    """An empty home but for the jars; a broker that is left there is stopped."""
    home = make_prepared_home(tmp_path / "home", prepared)
    yield home
    if running := find_running(home):
        running.stop()


def lastword(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "LASTWORD_HOME": str(home)}
    command = [LASTWORD, *arguments]
    return subprocess.run(
        command, env=environ, cwd=home, capture_output=True, text=True, timeout=180, check=False
    )


def answer(home: Path, *arguments: str, status: int = 0) -> dict[str, Any]:
    done = lastword(home, *arguments, "--json")
    assert done.returncode == status, done.stderr
    found: dict[str, Any] = json.loads(done.stdout or done.stderr)
    return found


def test_a_broker_is_started_found_inspected_and_stopped(home: Path, topic_name: str) -> None:
    assert answer(home, "broker", "status", status=3) == {"running": False}
    (port,) = free_ports(1)
    (home / "lastword.toml").write_text(
        '[broker.properties]\n"log.cleaner.backoff.ms" = "4321"\n"num.io.threads" = "3"\n'
    )
    setting = ("--setting", "num.io.threads=2")
    started = answer(home, "broker", "start", "--port", str(port), *setting)
    assert started["bootstrap_servers"] == f"127.0.0.1:{port}"
    assert started["detached"] is True
    assert [node["state"] for node in started["nodes"]] == ["answers"]

    admin = AdminClient({"bootstrap.servers": started["bootstrap_servers"]})
    resource = ConfigResource(ResourceType.BROKER, "1")
    settings = admin.describe_configs([resource])[resource].result(timeout=180)
    assert settings["log.cleaner.backoff.ms"].value == "4321", "from the file"
    assert settings["num.io.threads"].value == "2", "the flag goes before the file"

    assert answer(home, "broker", "start") == started, "it runs already"
    refused = answer(home, "broker", "start", "--port", "9", status=1)
    assert "already" in refused["message"]
    assert lastword(home, "topic", "create", topic_name).returncode == 0, "found without a flag"
    assert "Kafka Server started" in lastword(home, "broker", "log", "-n", "10000").stdout

    assert answer(home, "broker", "stop") == {"stopped": f"127.0.0.1:{port}"}
    assert answer(home, "broker", "stop") == {"stopped": None}
    stopped = answer(home, "broker", "status", status=3)
    assert (stopped["running"], stopped["nodes"][0]["state"]) == (False, "stopped")


def test_a_wrong_setting_is_reported_before_anything_is_started(home: Path) -> None:
    assert "KEY=VALUE" in answer(home, "broker", "start", "--setting", "x", status=2)["message"]
    owned = answer(home, "broker", "start", "--setting", "log.dirs=/x", status=2)
    assert "log.dirs" in owned["message"]
    assert not (home / "broker").exists()
