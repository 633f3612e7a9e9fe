"""The settings of a Connect worker, and what a failed connector says."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.connect_worker.rest import ConnectClient, ConnectorStatus, TaskStatus
from lastword.connect_worker.worker_info import WorkerInfo
from lastword.connect_worker.worker_settings import worker_settings
from lastword.errors import ConfigError, ConnectWorkerError
from lastword.jvm.ports import free_ports
from lastword.kafka.connection import Connection

INFO = WorkerInfo("/data/connect", 8083, "shop", detached=False)


def test_everything_is_on_the_loopback_address_and_exactly_once() -> None:
    connection = Connection(bootstrap_servers="localhost:9092")
    settings = worker_settings(INFO, connection, Path("/plugins"))
    assert settings["listeners"] == "http://127.0.0.1:8083"
    assert settings["exactly.once.source.support"] == "enabled"
    assert settings["config.providers.file.param.allowed.paths"] == "/data/connect/secrets"
    assert settings["offset.storage.topic"] == "_shop-offsets"


def test_the_clients_of_connectors_log_in_as_the_worker_does() -> None:
    connection = Connection(
        bootstrap_servers="localhost:9092",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="shop",
        sasl_password="sesame",  # noqa: S106 - made up
    )
    settings = worker_settings(INFO, connection, Path("/plugins"))
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert "sesame" in settings[f"{prefix}sasl.jaas.config"]
        assert settings[f"{prefix}security.protocol"] == "SASL_PLAINTEXT"


def test_a_failure_is_the_innermost_cause() -> None:
    trace = "org.Outer: it failed\n\tat x\nCaused by: org.Middle: so\nCaused by: org.Inner: why\n"
    tasks = (TaskStatus(0, "RUNNING"), TaskStatus(1, "FAILED", trace))
    assert ConnectorStatus("RUNNING", "", tasks).failure == "org.Inner: why"
    assert ConnectorStatus("RUNNING", "", tasks[:1]).failure is None


def test_a_connector_runs_when_it_has_a_task_and_all_of_them_run() -> None:
    assert ConnectorStatus("RUNNING", "", (TaskStatus(0, "RUNNING"),)).is_running
    assert not ConnectorStatus("RUNNING", "", ()).is_running
    assert not ConnectorStatus("RUNNING", "", (TaskStatus(0, "FAILED"),)).is_running


def test_a_worker_that_does_not_answer_is_named_without_its_login() -> None:
    url = f"http://shop:sesame@127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(ConnectWorkerError, match="does not answer") as raised:
        ConnectClient(url).connectors()
    assert "sesame" not in str(raised.value)


def test_text_that_is_not_an_address_is_refused() -> None:
    with pytest.raises(ConfigError):
        ConnectClient("localhost:8083")
