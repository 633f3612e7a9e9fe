"""``lastword serve`` and ``lastword token``, as an operator uses them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.catalog.catalog import read_catalog
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.testing import wait_until

LASTWORD = Path(sys.executable).with_name("lastword")


def run(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LASTWORD, *arguments],
        env={"LASTWORD_HOME": str(home), "PATH": os.environ["PATH"]} | environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def serve_until_ready(
    home: Path, broker: EmbeddedBroker, topic: str, *flags: str, **environment: str
) -> tuple[str, int]:
    """What it printed, and its exit status after a polite kill."""
    command = [LASTWORD, "serve", topic, "--bootstrap-servers", broker.bootstrap_servers, *flags]
    with subprocess.Popen(
        command,
        env={"LASTWORD_HOME": str(home), "PATH": os.environ["PATH"]} | environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if "http://" in line or '"url"' in line:
                break
        found = re.search(r"http://127\.0\.0\.1:\d+", printed)
        assert found, printed
        wait_until(
            lambda: httpx.get(f"{found[0]}/ready", timeout=180, trust_env=False).status_code == 200,
            "ready",
        )
        process.send_signal(signal.SIGTERM)
        return printed + process.stdout.read(), process.wait(180)


def test_the_first_start_shows_a_token_and_no_later_one_does(
    broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    port = str(free_ports(1)[0])
    first, status = serve_until_ready(tmp_path, broker, topic, "--port", port)
    assert status == 0
    (secret,) = re.findall(r"lw_[\w-]{43}", first)
    second, _ = serve_until_ready(tmp_path, broker, topic, "--port", port)
    assert "lw_" not in second
    kept = (tmp_path / "service" / "tokens.json").read_text()
    assert secret not in kept


def test_the_port_of_the_platform_is_used_unless_one_is_named(
    broker: EmbeddedBroker, topic: str, tmp_path: Path
) -> None:
    platforms, named = (str(port) for port in free_ports(2))
    printed, _ = serve_until_ready(tmp_path, broker, topic, "--json", PORT=platforms)
    lines = [json.loads(line) for line in printed.splitlines()]
    assert lines[-1]["url"] == f"http://127.0.0.1:{platforms}/tables/{topic}/keys"
    printed, _ = serve_until_ready(tmp_path, broker, topic, "--port", named, PORT=platforms)
    assert f":{named}/" in printed


def test_the_catalog_says_who_owns_a_served_table(
    broker: EmbeddedBroker, connection: Connection, topic: str, tmp_path: Path
) -> None:
    owned = f'application_id = "shop"\n[tables.{topic}]\nwrites = "owned"\n'
    (tmp_path / "lastword.toml").write_text(owned)
    serve_until_ready(tmp_path, broker, topic, "--port", str(free_ports(1)[0]))
    with Admin(connection) as admin:
        entry = read_catalog(admin, KafkaLog(connection))[topic]
    assert entry.owned_by == "shop"


def test_tokens_are_made_listed_and_revoked(tmp_path: Path) -> None:
    made = run(tmp_path, "token", "create", "ci", "--scope", "users=write", "--scope", "read")
    assert made.returncode == 0, made.stderr
    listed = run(tmp_path, "token", "list", "--json")
    token = json.loads(listed.stdout)
    assert (token["name"], token["scopes"]) == ("ci", "users=write *=read")
    assert made.stdout.strip() not in listed.stdout
    assert run(tmp_path, "token", "create", "ci", "--scope", "read").returncode == 2
    assert run(tmp_path, "token", "revoke", "ci").returncode == 0
    assert run(tmp_path, "token", "list", "--json").stdout == ""
    assert run(tmp_path, "token", "revoke", "ci").returncode == 2


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--host", "192.0.2.1"), "needs TLS"),
        (("--host", "example.com"), "needs TLS"),
        (("--tls-key", "key.pem"), "both a certificate and its key"),
    ],
)
def test_an_unsafe_start_is_refused(
    broker: EmbeddedBroker, tmp_path: Path, flags: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "key.pem").write_text("")
    servers = ("--bootstrap-servers", broker.bootstrap_servers)
    refused = run(tmp_path, "serve", "any-topic", *servers, *flags)
    assert refused.returncode == 2
    assert complaint in refused.stderr
    assert not (tmp_path / "service" / "tokens.json").exists()


def test_a_mount_that_hides_the_service_is_refused(broker: EmbeddedBroker, tmp_path: Path) -> None:
    for mount in ("/tables", "users", "/", "/a/../b", "/metrics/x"):
        (tmp_path / "lastword.toml").write_text(f'[tables.users]\nmount = "{mount}"\n')
        refused = run(tmp_path, "serve", "--bootstrap-servers", broker.bootstrap_servers)
        assert refused.returncode == 2, mount
        assert "is not a path for a table" in refused.stderr
    (tmp_path / "lastword.toml").write_text(
        '[tables.a]\nmount = "/x"\n[tables.b]\nmount = "/x/y"\n'
    )
    refused = run(tmp_path, "serve", "--bootstrap-servers", broker.bootstrap_servers)
    assert "hides another one" in refused.stderr


def test_without_a_table_there_is_nothing_to_serve(tmp_path: Path) -> None:
    refused = run(tmp_path, "serve", "--bootstrap-servers", "127.0.0.1:1")
    assert (refused.returncode, "no table to serve" in refused.stderr) == (2, True)
