"""What is logged: nothing by default, everything when asked, and safe for a terminal."""

from __future__ import annotations

import json
import logging

import pytest

from lastword.cli.support.log_setup import set_up_logging


def logged(capsys: pytest.CaptureFixture[str], verbosity: int, log_format: str) -> list[str]:
    set_up_logging(verbosity, log_format)
    log = logging.getLogger("lastword.test")
    log.debug("a detail")
    log.info("a step of %s", "one\x1b[2Jtable")
    log.warning("a warning")
    logging.getLogger("kafka").error("the broker is away")
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 1), (1, 3), (2, 4)])
def test_verbosity_decides_how_much_is_logged(
    capsys: pytest.CaptureFixture[str], verbosity: int, lines: int
) -> None:
    assert len(logged(capsys, verbosity, "text")) == lines


def test_text_lines_name_the_level_and_the_logger(capsys: pytest.CaptureFixture[str]) -> None:
    step = logged(capsys, 1, "text")[0]
    assert step.endswith(" INFO lastword.test: a step of one\\x1b[2Jtable")


def test_json_lines_are_objects(capsys: pytest.CaptureFixture[str]) -> None:
    entries = [json.loads(line) for line in logged(capsys, 1, "json")]
    assert [entry["level"] for entry in entries] == ["INFO", "WARNING", "ERROR"]
    assert set(entries[0]) == {"time", "level", "logger", "message"}
    assert entries[0]["message"] == "a step of one\x1b[2Jtable"


def test_an_exception_is_part_of_its_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(0, "json")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("lastword.test").exception("it failed")
    entry = json.loads(capsys.readouterr().err)
    assert "ValueError: broken" in entry["exception"]


def test_an_interrupt_is_not_logged_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(0, "text")
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        logging.getLogger().exception("KeyboardInterrupt while sending command.")
    assert capsys.readouterr().err == ""
