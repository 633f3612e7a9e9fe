"""How a run goes on and ends, whatever its queries do; neither Spark nor Kafka is needed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lastword.errors import FencedError, PipelineError
from lastword.pipelines.api.state import PipelineLife, PipelineState
from lastword.pipelines.run.supervisor import Supervisor

SCRATCH = Path("scratch")


class FakeQuery:
    """Is active for so many looks, then ends, perhaps with a failure."""

    def __init__(
        self, name: str, story: list[str], looks: int = 0, failure: Exception | None = None
    ) -> None:
        self.name = name
        self.failure: Exception | None = None
        self._story = story
        self._looks = looks
        self._fails_with = failure

    def start(self, scratch: Path) -> None:
        self._story.append(f"start {self.name} in {scratch}")

    @property
    def is_active(self) -> bool:
        self._looks -= 1
        if self._looks < 0:
            self.failure = self._fails_with
        return self._looks >= 0

    def stop(self) -> None:
        self._story.append(f"stop {self.name}")

    def finish(self) -> None:
        self._story.append(f"finish {self.name}")


class Lab:
    """A supervisor with a story of what happened, and the states the pipeline went through."""

    def __init__(self) -> None:
        self.story: list[str] = []
        self.states: list[PipelineState] = []
        self.replaced = False
        self.stop = threading.Event()
        self.looks = 0
        life = PipelineLife()
        life.move(PipelineState.STARTING)
        life.listener = lambda _, new: self.states.append(new)
        self.supervisor = Supervisor("shop", life, lambda: self.replaced, self._look)

    def _look(self) -> None:
        self.looks += 1

    def query(self, name: str, looks: int = 0, failure: Exception | None = None) -> FakeQuery:
        return FakeQuery(name, self.story, looks, failure)

    def run(self, *queries: FakeQuery, once: bool) -> None:
        self.supervisor.run(queries, SCRATCH, self.stop, once=once)


def test_a_run_that_ends_takes_one_query_after_the_other() -> None:
    lab = Lab()
    lab.run(lab.query("upstream"), lab.query("downstream"), once=True)
    assert lab.story == [
        "start upstream in scratch/0-0",
        "stop upstream",
        "start downstream in scratch/1-0",
        "stop downstream",
        "finish upstream",
        "finish downstream",
    ]
    assert lab.states == [PipelineState.RUNNING, PipelineState.PENDING_SHUTDOWN]


def test_all_queries_run_together_until_one_of_them_ends() -> None:
    lab = Lab()
    lab.run(lab.query("a", looks=100), lab.query("b", looks=2), once=False)
    assert lab.story[:2] == ["start a in scratch/0-0", "start b in scratch/0-1"]
    assert lab.story[2:] == ["stop a", "stop b", "finish a", "finish b"]
    assert lab.looks == 2


def test_a_run_that_is_stopped_ends_its_queries_and_cleans_up() -> None:
    lab = Lab()
    lab.stop.set()
    lab.run(lab.query("a", looks=100), once=False)
    assert lab.story == ["start a in scratch/0-0", "stop a", "finish a"]


def test_a_failure_is_raised_after_every_query_was_stopped() -> None:
    lab = Lab()
    failed = lab.query("b", failure=RuntimeError("ValueError: no such user"))
    with pytest.raises(PipelineError, match="'shop' failed: ValueError: no such user"):
        lab.run(lab.query("a", looks=100), failed, once=False)
    assert lab.story[2:] == ["stop a", "stop b"]
    assert PipelineState.PENDING_SHUTDOWN not in lab.states


def test_a_query_that_cannot_be_started_stops_those_that_were() -> None:
    lab = Lab()
    refused = lab.query("b")

    def start(scratch: Path) -> None:
        raise PipelineError("the changelog holds results")

    refused.start = start  # type: ignore[method-assign]
    with pytest.raises(PipelineError, match="holds results"):
        lab.run(lab.query("a", looks=100), refused, once=False)
    assert lab.story == ["start a in scratch/0-0", "stop a", "stop b"]


@pytest.mark.parametrize("looks", [0, 100])
def test_a_replaced_driver_says_so_even_if_its_queries_failed(looks: int) -> None:
    lab = Lab()
    lab.replaced = True
    with pytest.raises(FencedError, match="may have taken over 'shop'"):
        lab.run(lab.query("a", looks, RuntimeError("fenced")), once=False)
    assert lab.story == ["start a in scratch/0-0", "stop a"]
