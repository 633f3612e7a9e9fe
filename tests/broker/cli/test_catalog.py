"""Commands that take the codecs of a table from the catalog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lastword.errors import ConnectionFailedError
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
