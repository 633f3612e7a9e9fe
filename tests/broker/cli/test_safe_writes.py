"""Conditions and increments from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.catalog.catalog import CATALOG_TOPIC
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.cataloging import record_owners
from lastword.cli.support.table_options import table_spec
from lastword.kafka.admin import Admin

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.broker.embedded import EmbeddedBroker
    from lastword.kafka.connection import Connection
    from tests.broker.cli.conftest import Lastword


def test_a_key_is_put_only_if_it_is_absent_or_has_the_version(
    lastword: Lastword, topic: str
) -> None:
    (first,) = lastword.json("put", topic, "a", "1", "--if-absent")
    refused = lastword("put", topic, "a", "2", "--if-absent")
    assert refused.exit_code == 1
    assert "nothing was written" in refused.stderr
    lastword.ok("put", topic, "a", "3", "--if-version", first["version"])
    assert lastword("put", topic, "a", "4", "--if-version", first["version"]).exit_code == 1
    assert lastword("delete", topic, "a", "--if-version", first["version"]).exit_code == 1
    assert lastword.ok("get", topic, "a") == "3\n"


def test_lines_are_put_where_their_keys_are_absent(lastword: Lastword, topic: str) -> None:
    lastword.ok("put", topic, "b", "0")
    answer = lastword("put", topic, "--if-absent", "--json", stdin="a:1\nb:2\nc:3\n")
    assert answer.exit_code == 1
    statuses = [line.split('"status":"')[1].split('"')[0] for line in answer.stdout.splitlines()]
    assert statuses == ["ok", "conflict", "ok"]


def test_conditions_that_make_no_sense_are_refused(lastword: Lastword, topic: str) -> None:
    for arguments in (
        ("put", topic, "a", "1", "--if-absent", "--if-version", "0:1"),
        ("put", topic, "a", "1", "--if-version", "latest"),
        ("put", topic, "--if-version", "0:1"),
        ("delete", topic, "a", "b", "--if-version", "0:1"),
        ("increment", topic, "a", "much"),
        ("lock", "job"),
    ):
        assert lastword(*arguments).exit_code == 2, arguments


def test_increments_add_up(lastword: Lastword, topic: str) -> None:
    assert lastword.ok("increment", topic, "a") == "1\n"
    (sum_,) = lastword.json("increment", topic, "a", "-3")
    assert sum_["value"] == -2


def test_the_catalog_says_which_application_owns_the_writes(
    lastword: Lastword, topic: str, tmp_path: Path
) -> None:
    settings = tmp_path / "lastword.toml"
    settings.write_text(f'application_id = "shop"\n[tables.{topic}]\nwrites = "owned"\n')
    lastword.ok("describe", topic, "--save", "--config", str(settings))
    assert lastword.json("describe", topic)[0]["owned_by"] == "shop"
    other = lastword("put", topic, "a", "1")
    assert other.exit_code == 0
    assert "the application shop owns the writes" in other.stderr
    lastword.environ["LASTWORD_APPLICATION_ID"] = "shop"
    own = lastword("put", topic, "a", "2")
    assert (own.exit_code, own.stderr) == (0, "")
    (entry,) = lastword.json("get", topic, "a")
    assert entry["value"] == 2
    settings.write_text(f'application_id = "shop"\n[tables.{topic}]\nkey = "string"\n')
    lastword.ok("describe", topic, "--save", "--config", str(settings))
    assert lastword.json("describe", topic)[0]["owned_by"] is None


def test_the_application_that_serves_an_owned_table_says_so_in_the_catalog(
    lastword: Lastword, connection: Connection, topic: str
) -> None:
    def owner(application: str, writes: str) -> str | None:
        app = AppContext()
        app.flags |= {
            "connection.bootstrap_servers": connection.bootstrap_servers,
            "application_id": application,
        }
        record_owners(app, [table_spec(app, topic, {"writes": writes})])
        found: str | None = lastword.json("describe", topic)[0]["owned_by"]
        return found

    assert owner("shop", "direct") is None
    assert owner("shop", "owned") == "shop"
    with Admin(connection) as admin:
        end = admin.bounds(CATALOG_TOPIC, [0])[0].end
        assert owner("shop", "owned") == "shop"
        assert admin.bounds(CATALOG_TOPIC, [0])[0].end == end, "nothing was to be written"
    assert owner("other", "direct") == "shop"
    assert owner("shop", "direct") is None
    assert owner("other", "owned") == "other"


def test_a_table_of_the_settings_is_written_through_its_owners(
    lastword: Lastword, topic: str, tmp_path: Path, broker: EmbeddedBroker
) -> None:
    settings = tmp_path / "lastword.toml"
    settings.write_text(f'[tables.{topic}]\nwrites = "owned"\n')
    lastword.ok("put", topic, "a", "1", "--config", str(settings))
    lastword.ok("put", topic, "b", "1")
    fences = [record for record in lastword.json("log", topic) if record.get("fence")]
    assert fences, "whoever decided took the partition over first"
    assert lastword.ok("get", topic, "a") == "1\n"
