"""Commands that take the codecs of a table from the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lastword.catalog.catalog import CATALOG_TOPIC, write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.cli.settings.service_settings import mounted
from lastword.cli.settings.table_making import make_table
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import table_spec
from lastword.codecs.row_schema import RowSchema, SourceColumn, SourceColumns
from lastword.errors import ConnectionFailedError, DecodeError, LastwordError
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.producer import RecordProducer
from lastword.records import Write
from lastword.service.api.key_reads import read_key
from lastword.service.api.served import ServedTable
from tests.broker.cli.conftest import Lastword

pytestmark = pytest.mark.broker


@pytest.fixture
def counts(lastword: Lastword, topic_name: str) -> str:
    """A table of int64, as the catalog says."""
    options = [
        "--key-codec",
        "string",
        "--value-codec",
        "int64",
        "--description",
        "counts of users",
    ]
    lastword.ok("topic", "create", topic_name, "--partitions", "1", *options)
    return topic_name


SetEntry = Callable[..., tuple[Lastword, str]]


@pytest.fixture
def entry_of(lastword: Lastword, counts: str, connection: Connection) -> SetEntry:
    """Writes into the entry of that table, and returns the command line and its topic."""

    def write(**fields: Any) -> tuple[Lastword, str]:
        write_entries(connection, KafkaLog(connection), {counts: CatalogEntry(**fields)})
        return lastword, counts

    return write


def test_values_are_written_and_read_as_the_catalog_says(lastword: Lastword, counts: str) -> None:
    lastword.ok("put", counts, "user-1", "42")
    assert lastword.ok("get", counts, "user-1") == "42\n"
    assert lastword.json("get", counts, "user-1", "--value-codec", "bytes")[0]["value"] == (
        "AAAAAAAAACo="
    )


def test_a_settings_file_wins_over_the_catalog(
    lastword: Lastword, counts: str, tmp_path: Path
) -> None:
    file = tmp_path / "lastword.toml"
    file.write_text(f'[tables.named]\ntopic = "{counts}"\nvalue = "string"\n')
    lastword.ok("put", "named", "user-1", "12345678", "--config", str(file))
    assert lastword.ok("get", "named", "user-1", "--config", str(file)) == "12345678\n"


def test_a_wrong_entry_is_reported_with_the_way_out_that_works(
    lastword: Lastword, counts: str
) -> None:
    lastword.ok("put", counts, "user-1", '{"a": 1}', "--value-codec", "json")
    wrong = lastword("get", counts, "user-1")
    assert wrong.exit_code == 1
    assert "the catalog says" in wrong.stderr and "values are int64" in wrong.stderr
    assert f"lastword describe {counts} --value-codec NAME --save" in wrong.stderr
    lastword.ok("describe", counts, "--value-codec", "json", "--save")
    assert lastword.ok("get", counts, "user-1") == '{"a":1}\n'


def test_the_service_names_the_catalog_for_values_that_it_cannot_decode(
    lastword: Lastword, counts: str, connection: Connection
) -> None:
    lastword.ok("put", counts, "user-1", '{"a": 1}', "--value-codec", "json")
    app = AppContext()
    app.flags["connection.bootstrap_servers"] = connection.bootstrap_servers
    spec = table_spec(app, counts)
    with make_table(app, spec, store="memory", writes="direct") as table:
        served = ServedTable(mounted(table, spec))
        with pytest.raises(DecodeError, match="the catalog says") as refused:
            read_key(served, b"user-1", {})
        assert f"lastword describe {counts} --value-codec NAME" in str(refused.value.hint)
        (item,) = map(served.item, table.raw.scan())
        assert item is not None and "values are int64" in str(item.error)


@pytest.mark.parametrize(
    ("wrong", "command", "flag"),
    [
        ({"key": "string", "window": "a minute"}, "get TOPIC user-1", "--window MS"),
        ({"ttl": "soon"}, "put TOPIC user-1 1", "--ttl DURATION"),
        ({"ttl": "soon"}, "serve TOPIC", "--ttl DURATION"),
        ({"mount": "users"}, "serve TOPIC", "--mount PATH"),
    ],
)
def test_every_wrong_field_is_reported_with_the_flag_that_corrects_it(
    entry_of: SetEntry, wrong: dict[str, Any], command: str, flag: str
) -> None:
    lastword, topic = entry_of(**wrong)
    refused = lastword(*command.replace("TOPIC", topic).split())
    assert refused.exit_code == 2
    assert f"the catalog says of {topic} that the" in refused.stderr
    assert f"lastword describe {topic} {flag} --save" in refused.stderr


def test_what_the_catalog_says_can_be_removed(lastword: Lastword, counts: str) -> None:
    given = ("--mount", "/counts", "--ttl", "30d", "--description", "d", "--save")
    (shown,) = lastword.json("describe", counts, *given)
    assert (shown["mount"], shown["ttl"], shown["description"]) == ("/counts", "30d", "d")
    lastword.ok("describe", counts, "--mount", "", "--ttl", "", "--description", "", "--save")
    (shown,) = lastword.json("describe", counts)
    assert (shown["mount"], shown["ttl"], shown["description"]) == (None, None, None)
    assert shown["by_catalog"] == "key, value"
    assert lastword("describe", counts, "--ttl", "soon", "--save").exit_code == 2
    assert lastword("describe", counts, "--ttl", "1d").exit_code == 2, "without --save"


def test_the_entry_of_a_captured_table_can_be_corrected(lastword: Lastword, counts: str) -> None:
    lastword.ok("describe", counts, "--value-codec", "row", "--save")
    row = '{"price":"9.90","$types":{"price":"decimal"}}'
    lastword.ok("put", counts, "1", row)
    (entry,) = lastword.json("get", counts, "1")
    assert entry["value"] == {"price": "9.90"}


def test_an_entry_that_cannot_be_read_is_named(
    lastword: Lastword, counts: str, connection: Connection
) -> None:
    producer = RecordProducer(connection, CATALOG_TOPIC, batch_bytes=1000, timeout_s=180)
    (delivery,) = producer.send([Write(counts.encode(), b'{"key": 5}')])
    producer.close()
    assert not isinstance(delivery, LastwordError)
    warned = lastword("describe", counts, "--json")
    # Other tests read this catalog, too.
    lastword.ok("describe", counts, "--value-codec", "int64", "--save")
    assert json.loads(warned.stdout)["by_catalog"] is None
    assert f"the catalog's entry of {counts} cannot be read" in warned.stderr
    corrected = lastword("describe", counts, "--json")
    assert (json.loads(corrected.stdout)["by_catalog"], corrected.stderr) == ("key, value", "")


def test_typed_text_must_fit_the_codec_of_the_catalog(lastword: Lastword, counts: str) -> None:
    refused = lastword("put", counts, "user-1", '{"a": 1}')
    assert refused.exit_code == 2
    assert "the catalog says" in refused.stderr


def test_windows_come_from_the_catalog_too(lastword: Lastword, topic_name: str) -> None:
    lastword.ok("topic", "create", topic_name)
    lastword.ok("describe", topic_name, "--window", "60000", "--value-codec", "int64", "--save")
    lastword.ok("put", topic_name, "alice@120000", "7")
    assert lastword.ok("ls", topic_name) == "alice@120000  7\n"
    assert lastword.ok("get", topic_name, "alice@120000") == "7\n"


def test_a_new_table_is_listed_and_what_expires_by_time_is_not(
    lastword: Lastword, topic_name: str
) -> None:
    events = f"{topic_name}-events"
    lastword.ok("topic", "create", topic_name)
    lastword.ok("topic", "create", events, "--config", "cleanup.policy=delete")
    listed = {row["table"]: row for row in lastword.json("tables")}
    assert (listed[topic_name]["key"], listed[topic_name]["value"]) == ("string", "json")
    assert events not in listed
    assert lastword.json("describe", topic_name)[0]["by_catalog"] is None


def test_tables_and_describe_show_the_catalog(lastword: Lastword, counts: str) -> None:
    (row,) = (each for each in lastword.json("tables") if each["table"] == counts)
    assert (row["key"], row["value"], row["description"]) == ("string", "int64", "counts of users")
    (shown,) = lastword.json("describe", counts)
    assert (shown["value"], shown["by_catalog"]) == ("int64", "key, value")
    assert (shown["partitions"], shown["cleanup_policy"]) == (1, "compact")
    assert (shown["schema"], shown["schema_versions"]) == (None, None)


def test_describe_shows_the_columns_of_a_captured_table(
    lastword: Lastword, connection: Connection, topic_name: str
) -> None:
    lastword.ok("topic", "create", topic_name)
    schema = RowSchema.first(SourceColumns(7, (SourceColumn("price", "numeric(8,2)", 1),)))
    entry = CatalogEntry(key="string", value="row", row_schema=schema)
    write_entries(connection, KafkaLog(connection), {topic_name: entry})
    (shown,) = lastword.json("describe", topic_name)
    assert (shown["schema_kind"], shown["schema_version"]) == ("JSON", 1)
    assert json.loads(shown["schema"])["properties"]["price"]["description"] == "numeric(8,2)"
    assert "numeric(8,2)" in lastword.ok("describe", topic_name)


def test_describe_shows_the_schema_of_a_class(
    lastword: Lastword, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"described_{topic_name.replace('-', '_')}"
    text = "import msgspec\nclass User(msgspec.Struct):\n    name: str\n"
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    lastword.ok("topic", "create", topic_name)
    (shown,) = lastword.json("describe", topic_name, "--type", f"{module}:User")
    assert (shown["schema_kind"], shown["schema_versions"]) == ("JSON", [1])
    assert json.loads(shown["schema"])["properties"] == {"name": {"type": "string"}}


def test_a_deleted_topic_leaves_the_catalog(lastword: Lastword, counts: str) -> None:
    lastword.ok("topic", "delete", counts, "--yes")
    assert counts not in [each["table"] for each in lastword.json("tables")]


def test_a_catalog_that_cannot_be_read_is_left_aside(
    lastword: Lastword, counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise ConnectionFailedError("not authorized")

    monkeypatch.setattr("lastword.catalog.catalog.read_catalog", refuse)
    lastword.ok("put", counts, "user-1", "42")
    answer = lastword("get", counts, "user-1")
    assert answer.stdout == "42\n"
    assert "the catalog cannot be read and is not used: not authorized" in answer.stderr
    assert lastword.json("get", counts, "user-1", "--value-codec", "bytes")[0]["value"] == "NDI="
