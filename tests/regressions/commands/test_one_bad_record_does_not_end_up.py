"""A record that cannot be decoded is shown, and ``lastword up`` continues.

It ended the thread that prints changes, and with it the broker, the tables and the service: one
producer's mistake took the dashboard away from everybody.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.connection import Connection
from tests.broker.cli.conftest import Lastword
from tests.support.local_tables.tables import write_raw
from tests.support.served.up_process import Up

BYTES_AS_KEY = b"\x81\xc4\x01\xff\x01"  # MessagePack: {b"\xff": 1}
SETTINGS = """
[tables.people]
topic = "{topic}"
mount = "/people"

[tables.packed]
topic = "{topic}"
value = "msgpack"
"""


@pytest.fixture
def up(broker: EmbeddedBroker, topic: str, tmp_path: Path) -> Iterator[Up]:
    (tmp_path / "lastword.toml").write_text(SETTINGS.format(topic=topic))
    running = Up(tmp_path, LASTWORD_BOOTSTRAP_SERVERS=broker.bootstrap_servers)
    yield running
    running.close()


def test_undecodable_records_and_odd_keys_are_printed_and_the_next_change_too(
    up: Up, connection: Connection, topic: str
) -> None:
    up.next_with("url")
    write_raw(connection, topic, [(b"a", b"{nonsense"), (b"b", BYTES_AS_KEY), (b"c", b"1")])
    printed = [up.next_with("table") for _ in range(6)]
    errors = sorted(each["table"] for each in printed if "error" in each)
    values = {(each["table"], each["key"]): each["value"] for each in printed if "key" in each}
    assert errors == ["packed", "people", "people"]
    assert values == {
        ("people", "c"): 1,
        ("packed", "b"): {"/w==": 1},  # in base64, as bytes are elsewhere
        ("packed", "c"): 49,
    }
    assert httpx.get(f"{up.service}/people/c", timeout=180).json() == 1
    assert up.stop(signal.SIGINT) == (0, "")


def test_commands_print_a_map_with_bytes_as_keys(
    lastword: Lastword, connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"b", BYTES_AS_KEY)])
    packed = ("--value-codec", "msgpack")
    assert lastword.ok("get", topic, "b", *packed) == '{"/w==":1}\n'
    assert lastword.ok("ls", topic, *packed) == 'b  {"/w==":1}\n'
    assert '{"/w==":1}' in lastword.ok("log", topic, *packed)
    for command in (["get", topic, "b"], ["ls", topic], ["log", topic]):
        (found,) = lastword.json(*command, *packed)
        assert found["value"] == {"/w==": 1}
