"""The stores for a partition run: opened for one run, or kept open for many."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from lastword.kafka.log.source import LogSource
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.part import stores_of
from lastword.pipelines.graph.task_plan import TaskPlan
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.table_view import TableView
from lastword.pipelines.task.any_key_store import AnyKeyStore
from lastword.pipelines.task.partition_state import PartitionState
from lastword.pipelines.task.task_report import StoreSize
from lastword.stores.base import Store


class StoreState(Protocol):
    """One store of a partition and its position in the changelog."""

    plan: StorePlan

    def bring_to(self, changelog_offset: int) -> int:
        """Restore the store to that offset of its changelog; returns the number of records read."""

    def view(self) -> StateView:
        """A fresh view for one batch."""

    def following(self, position: int, end: int) -> TableView:
        """A view of a table that advances from ``position`` with the events."""

    def commit(self, view: StateView, changelog_offset: int) -> None:
        """Write a batch that is already committed to Kafka to the store."""

    def size(self) -> StoreSize:
        """The size of the store."""


class StoresAtHand(Protocol):
    """The stores of one partition, opened on first use."""

    def state(self, plan: StorePlan) -> StoreState:
        """The store of this plan; the same one each time."""


class TaskStores:
    """The stores of one partition on this machine, from the first use until ``close``.

    The creator decides how long they stay open: a long task for its life, a batch's task until the
    next batch.
    """

    def __init__(self, plan: TaskPlan, partition: int, log_source: LogSource) -> None:
        self._plan = plan
        self._partition = partition
        self._log_source = log_source
        self._states: dict[str, PartitionState] = {}

    def state(self, plan: StorePlan) -> PartitionState:
        """The store, opened on first use."""
        if plan.name not in self._states:
            self._states[plan.name] = PartitionState(
                self._plan, plan, self._partition, self._log_source
            )
        return self._states[plan.name]

    @property
    def directories(self) -> list[Path]:
        """The directories of the open stores."""
        return [state.directory for state in self._states.values()]

    def close(self) -> None:
        """Close all of them and release their locks; idempotent."""
        while self._states:
            self._states.popitem()[1].close()


def store_directories(plan: TaskPlan) -> list[Path]:
    """Where the stores of all partitions are, on the machines of their tasks."""
    return [
        plan.state_dir / plan.application_id / store.name / str(partition)
        for store in stores_of(plan.nodes)
        for partition in range(plan.partitions)
    ]


class ScratchState:
    """A store without a changelog, for results that are discarded."""

    def __init__(self, plan: StorePlan, store: Store) -> None:
        self.plan = plan
        self._store = AnyKeyStore(store)

    def bring_to(self, changelog_offset: int) -> int:
        """Do nothing: there is no changelog to read."""
        return 0

    def view(self) -> StateView:
        """A fresh view for one batch."""
        return StateView(self._store, every_update=self.plan.every_update)

    def following(self, position: int, end: int) -> TableView:
        """Raise NotImplementedError: there is no table to follow."""
        raise NotImplementedError(f"{self.plan.name} follows {self.plan.changelog}")

    def commit(self, view: StateView, changelog_offset: int) -> None:
        """Write the batch, with the offsets that the changelog would have."""
        view.commit(b"scratch", changelog_offset)

    def size(self) -> StoreSize:
        """Nobody asks."""
        return StoreSize()
