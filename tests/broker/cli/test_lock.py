"""Commands that run under a lock, and what ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import lease_topic
from lastword.testing import wait_until
from tests.broker.cli.conftest import Lastword
from tests.support.local_tables.real_topic import RealTopic

LASTWORD = str(Path(sys.executable).with_name("lastword"))
TIMEOUT_S = 180.0

# Says that it runs; ends in its own way on SIGTERM, and by itself after ten minutes.
JOB = """
import os, pathlib, signal, sys
def end(*_):
    os.write(1, b"terminated\\n")
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
signal.alarm(600)
pathlib.Path(sys.argv[1]).touch()
while True:
    signal.pause()
"""

StartJob = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def application(lastword: Lastword, topic_name: str) -> str:
    """An application of this test alone: locks of one name are the same lock."""
    lastword.environ["LASTWORD_APPLICATION_ID"] = topic_name
    return topic_name


@pytest.fixture
def start_job(lastword: Lastword, application: str, tmp_path: Path) -> Iterator[StartJob]:
    """``start_job(*options)`` runs JOB under the lock ``job``, and returns once JOB runs."""
    with ExitStack() as started:

        def start(*options: str) -> subprocess.Popen[str]:
            runs = tmp_path / "runs"
            command = [sys.executable, "-c", JOB, str(runs)]
            process = subprocess.Popen(
                [LASTWORD, "lock", "job", *options, "--", *command],
                env={**os.environ, **{k: v for k, v in lastword.environ.items() if v is not None}},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            started.enter_context(process)
            started.callback(process.kill)
            wait_until(
                lambda: runs.exists() or process.poll() is not None,
                "the command to run",
                timeout=TIMEOUT_S,
            )
            assert process.poll() is None, process.communicate()
            return process

        yield start


def test_a_command_runs_while_a_lock_is_held(lastword: Lastword, tmp_path: Path) -> None:
    out = tmp_path / "token"
    script = f"import os; open({str(out)!r}, 'w').write(os.environ['LASTWORD_LOCK_TOKEN'])"
    answer = lastword("lock", "job", "--", sys.executable, "-c", script)
    assert answer.exit_code == 0, answer.output
    first = int(out.read_text())
    failing = f"{script}; raise SystemExit(7)"
    assert (
        lastword("lock", "job", "--wait", "1m", "--", sys.executable, "-c", failing).exit_code == 7
    )
    assert int(out.read_text()) > first


def test_a_lock_that_another_process_holds_is_refused_and_sigterm_reaches_its_command(
    lastword: Lastword, start_job: StartJob
) -> None:
    job = start_job("--ttl", "10m")
    refused = lastword("lock", "job", "--", "true")
    assert refused.exit_code == 1
    assert "is held by" in refused.stderr
    job.send_signal(signal.SIGTERM)
    said, problems = job.communicate(timeout=TIMEOUT_S)
    assert (job.returncode, said, problems) == (3, "terminated\n", "")
    assert lastword("lock", "job", "--", "true").exit_code == 0


def test_a_command_that_a_signal_ends_gives_the_status_of_a_shell(lastword: Lastword) -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    answer = lastword("lock", "job", "--wait", "1m", "--", sys.executable, "-c", script)
    assert answer.exit_code == 128 + signal.SIGTERM


def test_a_command_is_ended_when_its_lock_is_lost(
    connection: Connection, application: str, start_job: StartJob
) -> None:
    job = start_job("--ttl", "3s")
    RealTopic(connection, lease_topic(application)).produce((b"/job", None))
    said, problems = job.communicate(timeout=TIMEOUT_S)
    assert said == "terminated\n"
    assert job.returncode == 1
    assert "the lock was lost while" in problems


def test_a_command_that_is_not_there_is_named(lastword: Lastword) -> None:
    answer = lastword("lock", "job", "--wait", "1m", "--", "no-such-command-here")
    assert answer.exit_code == 2
    assert "cannot run no-such-command-here" in answer.stderr
