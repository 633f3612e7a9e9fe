from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lastword.errors import ConfigError, StoreLockedError
from lastword.replicas.state_directory import LOCK_FILE, StateDirectory, holder_of
from lastword.testing.fake_clock import FakeClock

Open = Callable[..., StateDirectory]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Open]:
    """Makes state directories under one root and releases them after the test."""
    with ExitStack() as opened:

        def make(application_id: str = "app", table: str = "users") -> StateDirectory:
            made = StateDirectory(tmp_path, application_id, table, FakeClock(now_ms=1_000))
            opened.callback(made.release)
            return made

        yield make


def test_the_layout_is_application_table_partition(directory: Open, tmp_path: Path) -> None:
    state = directory()
    assert state.acquire(2) == tmp_path / "app" / "users" / "2" / "store"
    assert (tmp_path / "app" / "users" / "2" / LOCK_FILE).is_file()


def test_the_holder_of_a_partition_is_known_while_it_holds_it(
    directory: Open, tmp_path: Path
) -> None:
    state = directory()
    state.acquire(0)
    holder = holder_of(tmp_path / "app" / "users" / "0")
    assert holder is not None
    assert (holder.pid, holder.since_ms) == (os.getpid(), 1_000)
    state.release()
    assert holder_of(tmp_path / "app" / "users" / "0") is None


def test_a_second_table_gets_an_error_that_names_the_holder(directory: Open) -> None:
    first = directory()
    first.acquire(0)
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()} on") as refused:
        directory().acquire(0)
    assert refused.value.retriable
    assert "application id" in (refused.value.hint or "")


def test_a_released_partition_can_be_taken_again(directory: Open) -> None:
    first = directory()
    first.acquire(0)
    first.release()
    first.release()
    assert directory().acquire(0).parent.is_dir()


def test_partitions_tables_and_applications_do_not_exclude_each_other(directory: Open) -> None:
    one, two, three = (
        directory(),
        directory(table="orders"),
        directory(application_id="other"),
    )
    paths = {one.acquire(0), one.acquire(1), two.acquire(0), three.acquire(0)}
    assert len(paths) == 4


def test_the_lock_of_a_killed_process_is_free(directory: Open, tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from lastword.clock import SYSTEM_CLOCK\n"
        "from lastword.replicas.state_directory import StateDirectory\n"
        "held = StateDirectory(pathlib.Path(sys.argv[1]), 'app', 'users', SYSTEM_CLOCK)\n"
        "held.acquire(0)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(StoreLockedError, match=f"process {child.pid} on"):
            directory().acquire(0)
        child.kill()
    assert directory().acquire(0).parent.is_dir()


def test_a_lock_file_that_cannot_be_read_still_locks(directory: Open, tmp_path: Path) -> None:
    first = directory()
    first.acquire(0)
    (tmp_path / "app" / "users" / "0" / LOCK_FILE).write_bytes(b"{")
    with pytest.raises(StoreLockedError, match="is in use"):
        directory().acquire(0)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".", "a b", "../x", "naïve"])
def test_a_name_that_could_leave_the_directory_is_refused(directory: Open, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a directory"):
        directory(table=name)
    with pytest.raises(ConfigError, match="cannot name a directory"):
        directory(application_id=name)
