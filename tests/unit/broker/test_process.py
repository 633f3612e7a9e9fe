"""A process lives as long as its lock is held: for its starter, for others, after any crash.

The commands here are small programs; that Kafka behaves the same is shown in tests/broker.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from lastword.broker.process import NodeProcess
from lastword.errors import BrokerError
from lastword.testing import wait_until

SLEEP = ["sleep", "600"]
# Ends in order, as Java does: unlike ``sleep``, it must be awake to do so.
POLITE = ["sh", "-c", "trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.05; done"]
# Says on its console that it has caught the signal to end, and goes on.
STUBBORN = ["sh", "-c", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done"]
LAUNCH = """
import sys, time
from pathlib import Path
from lastword.broker.process import NodeProcess
node = Path(sys.argv[1])
NodeProcess(node).launch(sys.argv[3:], node / "console", detached=sys.argv[2] == "detached")
print("launched", flush=True)
time.sleep(600)
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """The process of an empty node directory; it is killed when the test is over."""
    process = NodeProcess(tmp_path)
    yield process
    process.kill()


def launch(node: NodeProcess, directory: Path, command: list[str]) -> None:
    node.launch(command, directory / "console", detached=False)


@contextmanager
def launched_by_another(
    directory: Path, mode: str, command: Sequence[str] = SLEEP
) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has launched a process in ``directory``; it is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(directory), mode, *command], stdout=subprocess.PIPE
    ) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"launched\n"
            yield parent
        finally:
            parent.kill()


def test_a_process_runs_until_it_is_stopped(node: NodeProcess, tmp_path: Path) -> None:
    launch(node, tmp_path, SLEEP)
    assert node.pid is not None
    os.kill(node.pid, 0)
    node.ask_to_stop()
    node.wait_until_stopped(10)
    assert not node.is_running()
    assert node.pid is None


def test_another_object_for_the_same_directory_sees_and_ends_it(
    node: NodeProcess, tmp_path: Path
) -> None:
    launch(node, tmp_path, SLEEP)
    other = NodeProcess(tmp_path)
    assert other.pid == node.pid
    other.kill()
    assert not node.is_running()


def test_a_process_that_ends_by_itself_is_not_running(node: NodeProcess, tmp_path: Path) -> None:
    launch(node, tmp_path, ["true"])
    wait_until(lambda: not node.is_running(), "the end of a short program")
    node.ask_to_stop()  # nothing to do, and no error


def test_a_pid_file_without_a_lock_is_not_believed(node: NodeProcess, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "pid").write_text(str(os.getpid()))  # a crash left it; the number is ours now
    assert node.pid is None
    node.ask_to_stop()
    node.kill()
    with pytest.raises(BrokerError, match="no broker runs"):
        node.send(signal.SIGKILL)
    launch(node, tmp_path, SLEEP)
    assert node.pid != os.getpid()


def test_a_second_launch_is_refused_and_names_the_first(node: NodeProcess, tmp_path: Path) -> None:
    launch(node, tmp_path, SLEEP)
    with pytest.raises(BrokerError, match=f"already .process {node.pid}"):
        launch(NodeProcess(tmp_path), tmp_path, SLEEP)
    assert node.is_running()


def test_a_program_that_does_not_exist_is_an_error(node: NodeProcess, tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match="could not be started"):
        launch(node, tmp_path, [str(tmp_path / "no-such-java")])
    assert not node.is_running()


def test_a_paused_process_still_runs_and_can_be_stopped_in_order(
    node: NodeProcess, tmp_path: Path
) -> None:
    launch(node, tmp_path, POLITE)
    console = tmp_path / "console"
    wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
    node.pause()
    assert node.is_running()
    node.ask_to_stop()
    node.wait_until_stopped(60)
    assert not node.is_running()
    assert "bye" in console.read_text()


def test_a_process_that_ignores_the_request_to_stop_is_killed(
    node: NodeProcess, tmp_path: Path
) -> None:
    launch(node, tmp_path, STUBBORN)
    console = tmp_path / "console"
    wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
    node.ask_to_stop()
    wait_until(lambda: "no" in console.read_text(), "the program to refuse")
    assert node.is_running()
    node.wait_until_stopped(0.1)
    assert not node.is_running()


def test_when_the_parent_is_killed_the_process_ends_too(node: NodeProcess, tmp_path: Path) -> None:
    with launched_by_another(tmp_path, "owned"):
        assert node.is_running()
    wait_until(lambda: not node.is_running(), "the end of the orphan", timeout=60)


def test_a_paused_process_ends_too_when_the_parent_is_killed(
    node: NodeProcess, tmp_path: Path
) -> None:
    console = tmp_path / "console"
    with launched_by_another(tmp_path, "owned", POLITE):
        wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
        node.pause()
    wait_until(lambda: not node.is_running(), "the end of the paused orphan")
    assert "bye" in console.read_text()


def test_a_detached_process_outlives_its_starter_and_is_stopped_by_another(
    node: NodeProcess, tmp_path: Path
) -> None:
    owned = tmp_path / "owned"
    owned.mkdir()
    with launched_by_another(owned, "owned"), launched_by_another(tmp_path, "detached"):
        pass
    wait_until(lambda: not NodeProcess(owned).is_running(), "the end of the one that is owned")
    assert node.is_running()
    node.ask_to_stop()
    node.wait_until_stopped(10)
    assert not node.is_running()
