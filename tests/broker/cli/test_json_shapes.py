"""The JSON of every command has the fields that docs/reference/json.md names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.broker.cli.conftest import Lastword

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"

# What to run for the shape of each command; {topic} is a topic with one key.
COMMANDS = {
    "lastword put": "put {topic} key 1",
    "lastword delete": "delete {topic} other",
    "lastword get": "get {topic} key",
    "lastword ls": "ls {topic}",
    "lastword count": "count {topic}",
    "lastword watch": "watch {topic} --from beginning --limit 1",
    "lastword log": "log {topic}",
    "lastword history": "history {topic} key",
    "lastword tables": "tables",
    "lastword describe": "describe {topic} --save",
    "lastword schema check": "schema check {topic}",
    "lastword topic list": "topic list",
    "lastword topic create": "topic create {topic}-new",
    "lastword topic delete": "topic delete {topic} --yes",
    "lastword topic alter": "topic alter {topic} --config segment.ms=20000",
    "lastword topic describe": "topic describe {topic}",
    "lastword topic partition": "topic partition {topic} key",
    "lastword topic compaction": "topic compaction {topic} --why",
    "lastword estimate compaction": (
        "estimate compaction --topic-size 1GiB --dirty-ratio 0.5 --throughput 1MiB"
    ),
    "lastword estimate bloom": "estimate bloom --items 10",
    "lastword estimate restore": "estimate restore {topic}",
}


def documented_fields(command: str) -> set[str]:
    """The names in the last column; those in brackets are inside another field or a choice."""
    row = re.search(rf"^\| `{command}` \|.*$", PAGE.read_text(), re.M)
    assert row, f"{command} is missing in docs/reference/json.md"
    cell = row[0].rstrip(" |").rpartition("|")[2]
    if "the same" in cell:
        return documented_fields({"lastword delete": "lastword put"}.get(command, "lastword get"))
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", cell)))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_json_of_a_command_is_what_is_documented(
    lastword: Lastword, topic: str, command: str
) -> None:
    lastword.ok("put", topic, "key", "1")
    lastword.ok("describe", topic, "--save")
    objects = lastword.json(*COMMANDS[command].format(topic=topic).split())
    assert objects
    named = documented_fields(command)
    for each in objects:
        assert set(each) <= named, f"document {set(each) - named} in docs/reference/json.md"
        assert named - set(each) <= {"error", "headers", "fence"}, "only these may be left out"
