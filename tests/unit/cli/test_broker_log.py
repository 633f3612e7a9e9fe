"""``lastword broker log`` shows the end of the broker's log and follows it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from lastword.broker.info import BrokerInfo, NodeInfo, write_info
from lastword.cli.main import lastword as command_line

LASTWORD = str(Path(sys.executable).with_name("lastword"))


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    """The log of a broker that once ran in the home ``tmp_path``."""
    directory = tmp_path / "broker"
    node = NodeInfo(
        id=1,
        directory=str(directory / "node-1"),
        listeners={"PLAINTEXT": 20000},
        controller_port=20001,
        metrics_port=20002,
    )
    write_info(directory, BrokerInfo("4L6g3nShT-eMCtK--X86sw", (node,), detached=True))
    node.log_file.parent.mkdir()
    node.log_file.write_text("one\ntwo\nthree\nfou")
    return node.log_file


def run(home: Path, *arguments: str) -> tuple[int, str]:
    environ = {"LASTWORD_HOME": str(home)}
    answer = CliRunner().invoke(command_line, ("broker", "log", *arguments), env=environ)
    return answer.exit_code, answer.output


@pytest.fixture
def following(tmp_path: Path, log_file: Path) -> Iterator[subprocess.Popen[str]]:
    """``lastword broker log -f``, which has printed the line three."""
    command = [LASTWORD, "broker", "log", "-f", "-n", "1"]
    environ = {"LASTWORD_HOME": str(tmp_path)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "three\n"
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("log_file")
def test_the_last_complete_lines_are_printed(tmp_path: Path) -> None:
    assert run(tmp_path, "-n", "2") == (0, "two\nthree\n")
    assert run(tmp_path, "-n", "0") == (0, "")


@pytest.mark.usefixtures("log_file")
def test_as_json_each_line_says_whose_it_is(tmp_path: Path) -> None:
    status, output = run(tmp_path, "-n", "1", "--json")
    assert (status, json.loads(output)) == (0, {"broker": 1, "line": "three"})


def test_without_any_broker_the_error_says_how_to_start_one(tmp_path: Path) -> None:
    status, output = run(tmp_path)
    assert status == 1
    assert "lastword broker start" in output


@pytest.mark.usefixtures("log_file")
def test_a_broker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    status, output = run(tmp_path, "--broker", "2")
    assert status == 1
    assert "no broker 2" in output


def test_following_continues_when_a_line_is_completed_and_when_the_file_is_rolled(
    following: subprocess.Popen[str], log_file: Path
) -> None:
    assert following.stdout is not None
    with log_file.open("a") as file:
        file.write("r\nfive\n")
    assert [following.stdout.readline() for _ in range(2)] == ["four\n", "five\n"]
    log_file.rename(log_file.with_suffix(".log.1"))
    log_file.write_text("six\n")
    assert following.stdout.readline() == "six\n"
    following.send_signal(signal.SIGINT)
    assert following.wait(180) == 0
