"""A process lives as long as its lock is held: for its starter, for others, after any crash.

The commands here are small programs; that Java and Kafka behave the same is shown in
test_java_server.py and in tests/broker.
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

from lastword.errors import ServerProcessError
from lastword.jvm.child_process import ChildProcess, ServerKind
from lastword.testing import wait_until

SLEEP = ["sleep", "600"]
# Ends in order, as Java does: unlike ``sleep``, it must be awake to do so.
POLITE = ["sh", "-c", "trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.05; done"]
# Says on its console that it has caught the signal to end, and goes on.
STUBBORN = ["sh", "-c", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done"]
LAUNCH = """
import sys, time
from pathlib import Path
from lastword.errors import ServerProcessError
from lastword.jvm.child_process import ChildProcess, ServerKind
kind = ServerKind("mill", "mill stop", ServerProcessError)
directory = Path(sys.argv[1])
detached = sys.argv[2] == "detached"
ChildProcess(kind, directory).launch(sys.argv[3:], directory / "console", detached=detached)
print("launched", flush=True)
time.sleep(600)
"""

MILL = ServerKind("mill", stop_command="mill stop", error=ServerProcessError)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ChildProcess]:
    """The process of an empty directory; it is killed when the test is over."""
    child = ChildProcess(MILL, tmp_path)
    yield child
    child.kill()


def launch(process: ChildProcess, directory: Path, command: list[str]) -> None:
    process.launch(command, directory / "console", detached=False)


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


def test_a_process_runs_until_it_is_stopped(process: ChildProcess, tmp_path: Path) -> None:
    launch(process, tmp_path, SLEEP)
    assert process.pid is not None
    os.kill(process.pid, 0)
    process.ask_to_stop()
    process.wait_until_stopped(10)
    assert not process.is_running()
    assert process.pid is None


def test_another_object_for_the_same_directory_sees_and_ends_it(
    process: ChildProcess, tmp_path: Path
) -> None:
    launch(process, tmp_path, SLEEP)
    other = ChildProcess(MILL, tmp_path)
    assert other.pid == process.pid
    other.kill()
    assert not process.is_running()


def test_a_process_that_has_ended_is_not_running(process: ChildProcess, tmp_path: Path) -> None:
    launch(process, tmp_path, ["true"])
    wait_until(lambda: not process.is_running(), "the end of a short program")
    process.ask_to_stop()  # nothing to do, and no error


def test_a_pid_file_without_a_lock_is_not_believed(process: ChildProcess, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "pid").write_text(str(os.getpid()))  # a crash left it; the number is ours now
    assert process.pid is None
    process.ask_to_stop()
    process.kill()
    with pytest.raises(ServerProcessError, match="no mill runs"):
        process.send(signal.SIGKILL)
    launch(process, tmp_path, SLEEP)
    assert process.pid != os.getpid()


def test_a_second_launch_is_refused_and_names_the_first(
    process: ChildProcess, tmp_path: Path
) -> None:
    launch(process, tmp_path, SLEEP)
    with pytest.raises(ServerProcessError, match=f"a mill .* .process {process.pid}") as caught:
        launch(ChildProcess(MILL, tmp_path), tmp_path, SLEEP)
    assert "mill stop" in (caught.value.hint or "")
    assert process.is_running()


def test_the_environment_given_is_the_whole_of_it(process: ChildProcess, tmp_path: Path) -> None:
    console = tmp_path / "console"
    process.launch(["/usr/bin/env"], console, detached=False, environ={"GRAIN": "rye"})
    wait_until(lambda: not process.is_running(), "the end of a short program")
    lines = console.read_text().splitlines()
    assert "GRAIN=rye" in lines
    assert not [line for line in lines if line.startswith("PATH=")], "this process's own"


def test_a_program_that_does_not_exist_is_an_error(process: ChildProcess, tmp_path: Path) -> None:
    with pytest.raises(ServerProcessError, match="could not be started"):
        launch(process, tmp_path, [str(tmp_path / "no-such-java")])
    assert not process.is_running()


def test_a_paused_process_still_runs_and_can_be_stopped_in_order(
    process: ChildProcess, tmp_path: Path
) -> None:
    launch(process, tmp_path, POLITE)
    console = tmp_path / "console"
    wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
    process.pause()
    assert process.is_running()
    process.ask_to_stop()
    process.wait_until_stopped(60)
    assert not process.is_running()
    assert "bye" in console.read_text()


def test_a_process_that_ignores_the_request_to_stop_is_killed(
    process: ChildProcess, tmp_path: Path
) -> None:
    launch(process, tmp_path, STUBBORN)
    console = tmp_path / "console"
    wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
    process.ask_to_stop()
    wait_until(lambda: "no" in console.read_text(), "the program to refuse")
    assert process.is_running()
    process.wait_until_stopped(0.1)
    assert not process.is_running()


def test_when_the_parent_is_killed_the_process_ends_too(
    process: ChildProcess, tmp_path: Path
) -> None:
    with launched_by_another(tmp_path, "owned"):
        assert process.is_running()
    wait_until(lambda: not process.is_running(), "the end of the orphan", timeout=180)


def test_a_paused_process_ends_too_when_the_parent_is_killed(
    process: ChildProcess, tmp_path: Path
) -> None:
    console = tmp_path / "console"
    with launched_by_another(tmp_path, "owned", POLITE):
        wait_until(lambda: "ready" in console.read_text(), "the program to catch signals")
        process.pause()
    wait_until(lambda: not process.is_running(), "the end of the paused orphan")
    assert "bye" in console.read_text()


def test_a_detached_process_outlives_its_starter_and_is_stopped_by_another(
    process: ChildProcess, tmp_path: Path
) -> None:
    owned = tmp_path / "owned"
    owned.mkdir()
    with launched_by_another(owned, "owned"), launched_by_another(tmp_path, "detached"):
        pass
    wait_until(
        lambda: not ChildProcess(MILL, owned).is_running(), "the end of the one that is owned"
    )
    assert process.is_running()
    process.ask_to_stop()
    process.wait_until_stopped(10)
    assert not process.is_running()
