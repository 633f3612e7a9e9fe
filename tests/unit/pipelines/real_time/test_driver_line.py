"""Driver and long tasks on one machine: what each hears of the other, and when it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.errors import ConnectionFailedError
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.real_time.driver_line import DriverLine
from lastword.pipelines.real_time.switchboard import Switchboard
from lastword.pipelines.task.task_report import StoreSize, TaskReport
from lastword.testing.waiting import wait_until

HOST = "127.0.0.1"


class Driver:
    """A switchboard whose membership can change, and the reports it heard."""

    def __init__(self) -> None:
        self.metadata = b"first"
        self.reports: list[TaskReport] = []
        self.board = Switchboard(HOST, lambda: self.metadata, self.reports.extend)

    def line(self, task: int = 0) -> DriverLine:
        return DriverLine(self.board.address, self.board.token, task)


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    with driver.board:
        yield driver


def test_a_task_learns_the_membership_and_each_change_that_it_asks_for(driver: Driver) -> None:
    line = driver.line()
    assert line.metadata == b"first"
    driver.metadata = b"second"
    assert line.ask_membership() == b"second"
    line.close()


def test_reports_arrive_as_they_were_made(driver: Driver) -> None:
    line = driver.line()
    report = TaskReport(3, Tally(records=2), {"n": StoreSize(1, 10)}, {"n": Tally(late=1)})
    line.report([report])
    wait_until(lambda: bool(driver.reports), what="a report")
    assert driver.reports == [report]
    line.close()


def test_every_task_is_stopped_and_later_ones_too(driver: Driver) -> None:
    first = driver.line(0)
    driver.board.stop_tasks()
    later = driver.line(1)
    for line in (first, later):
        assert line.stopping.wait(180)
        wait_until(lambda line=line: line.was_told_to_stop, what="word of the end")
        assert not line.is_superseded
        line.close()


def test_a_second_attempt_ends_the_first(driver: Driver) -> None:
    first, second = driver.line(0), driver.line(0)
    assert first.stopping.wait(180)
    assert first.is_superseded
    assert not second.stopping.is_set()
    first.close()
    wait_until(lambda: driver.board.tasks == [0], what="one task")
    second.close()


def test_a_task_that_loses_its_driver_stops(driver: Driver) -> None:
    line = driver.line()
    driver.board.close()
    assert line.stopping.wait(180)
    assert not line.was_told_to_stop
    with pytest.raises(ConnectionFailedError):
        line.ask_membership()
    line.close()


def test_a_stranger_without_the_token_is_not_answered(driver: Driver) -> None:
    with pytest.raises(ConnectionFailedError, match="no longer answers"):
        DriverLine(driver.board.address, "guessed", 0)
    assert driver.board.tasks == []
