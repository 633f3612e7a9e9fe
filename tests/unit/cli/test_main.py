"""The command itself: it starts fast, fails clearly, and teaches the shell its words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import lastword
from lastword import errors
from lastword.cli.main import COMMANDS
from lastword.cli.main import lastword as command_line
from lastword.cli.support.failure import exit_status

LASTWORD = Path(sys.executable).with_name("lastword")
SLOW_LIBRARIES = {"rich", "confluent_kafka", "kafka", "rocksdict", "numpy", "pyspark", "msgspec"}


def test_help_loads_no_library_it_does_not_need() -> None:
    script = (
        "import sys; from lastword.cli.main import lastword\n"
        "try: lastword(['--help'])\n"
        "except SystemExit: sys.stderr.write(' '.join(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not SLOW_LIBRARIES & set(answer.stderr.split())


def test_help_names_every_command() -> None:
    answer = CliRunner().invoke(command_line, ["--help"])
    assert answer.exit_code == 0
    assert all(f"\n  {name} " in answer.output for name in COMMANDS)


def test_the_version_is_the_packages() -> None:
    answer = CliRunner().invoke(command_line, ["--version"])
    assert answer.output == f"lastword, version {lastword.__version__}\n"


def test_an_unknown_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(command_line, ["frobnicate"]).exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_for_this_command(shell: str) -> None:
    answer = CliRunner().invoke(command_line, ["completion", shell])
    assert answer.exit_code == 0
    assert f"_LASTWORD_COMPLETE={shell}_complete" in answer.output


def test_the_shell_completes_commands() -> None:
    environ = {
        "_LASTWORD_COMPLETE": "bash_complete",
        "COMP_WORDS": "lastword wa",
        "COMP_CWORD": "1",
    }
    answer = subprocess.run([LASTWORD], env=environ, capture_output=True, text=True, check=False)
    assert "watch" in answer.stdout


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.TopicNotFoundError("no topic"), 1),
        (errors.TopicExistsError("there already"), 1),
        (errors.StoreLockedError("in use"), 1),
        (errors.ConfigError("wrong"), 2),
        (errors.InvalidRecordError("no key"), 2),
        (errors.ConnectionFailedError("no answer"), 3),
        (errors.IndeterminateError("who knows"), 3),
        (errors.NotReadyError("restoring"), 3),
    ],
)
def test_the_exit_status_says_what_kind_of_failure_it_was(
    error: errors.LastwordError, status: int
) -> None:
    assert exit_status(error) == status


def test_a_failure_is_a_message_and_a_hint_on_standard_error(tmp_path: Path) -> None:
    answer = CliRunner().invoke(
        command_line, ["get", "users", "user-1"], env={"LASTWORD_HOME": str(tmp_path)}
    )
    assert answer.exit_code == 3
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: no cluster was named")
    assert "\nhint:  run `lastword up`" in answer.stderr


def test_with_json_a_failure_is_an_object(tmp_path: Path) -> None:
    answer = CliRunner().invoke(
        command_line, ["get", "users", "user-1", "--json"], env={"LASTWORD_HOME": str(tmp_path)}
    )
    problem = json.loads(answer.stderr)
    assert problem["error"] == "ConnectionFailedError"
    assert problem["retriable"] is True
    assert set(problem) == {"error", "message", "hint", "retriable"}


def test_a_wrong_settings_file_is_reported_by_any_command(tmp_path: Path) -> None:
    file = tmp_path / "lastword.toml"
    file.write_text("[conection]\n")
    answer = CliRunner().invoke(command_line, ["count", "users", "--config", str(file)])
    assert (answer.exit_code, "conection" in answer.stderr) == (2, True)
