"""What is printed can be read by people and programs, and obeyed by no terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.cli.support.output import CommandOutput, as_json, as_text, printable

HOSTILE = "\x1b]0;owned\x07\x9b2J\u202egnp.exe\u200b\r\n[bold red]not markup[/] :boom:"
DANGEROUS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x200B)}


def test_terminal_escapes_are_written_out() -> None:
    assert printable("a\x1b[2Jb\nc\td\x9b") == "a\\x1b[2Jb\\nc\\td\\x9b"


@given(st.text())
def test_nothing_printable_holds_a_control_character(text: str) -> None:
    assert not DANGEROUS & set(printable(text))


@given(st.text().filter(lambda text: text.isprintable()))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_json_is_safe_for_a_terminal_and_means_the_same(value: object) -> None:
    line = as_json(value)
    assert not DANGEROUS & set(line)
    assert json.loads(line) == value


def test_bytes_are_base64_in_json_and_escapes_for_people() -> None:
    assert as_json({"value": b"\x00\xff"}) == '{"value":"AP8="}'
    assert as_text(b"a\x00\x1b") == "a\\x00\\x1b"


@pytest.mark.parametrize("json_lines", [True, False])
def test_rows_from_a_topic_cannot_command_the_terminal(
    capsys: pytest.CaptureFixture[str], *, json_lines: bool
) -> None:
    count = CommandOutput(json_lines=json_lines).rows(
        ["key", "value"], [{"key": HOSTILE, "value": 1}]
    )
    printed = capsys.readouterr().out
    assert count == 1
    assert not DANGEROUS & set(printed.replace("\n", ""))
    assert "[bold red]not markup[/]" in printed.replace("\n", "")
    assert ":boom:" in printed


def test_notes_for_people_are_not_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    CommandOutput(json_lines=True).info("restored")
    CommandOutput(json_lines=False).info("restored")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "restored\n")


def test_details_are_one_object_or_one_line_per_entry(capsys: pytest.CaptureFixture[str]) -> None:
    details = {"log_start": 0, "caught_up": True, "lag": None}
    CommandOutput(json_lines=True).details(details)
    assert json.loads(capsys.readouterr().out) == details
    CommandOutput(json_lines=False).details(details)
    assert capsys.readouterr().out == "log start  0\ncaught up  yes\nlag        -\n"
