"""One attempt at one partition of a batch: restore, process, commit, update the stores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from lastword.codecs.resolve import codec
from lastword.codecs.split import split_of
from lastword.kafka.groups import Committed
from lastword.kafka.write.transaction_writer import NOW, Output, PositionsAt
from lastword.pipelines.graph.node import SinkNode, StatefulNode
from lastword.pipelines.graph.offset_metadata import (
    OffsetMetadata,
    encode_metadata,
    join_metadata,
)
from lastword.pipelines.graph.task_plan import BatchOrder, TaskPlan
from lastword.pipelines.operators.events import BadEvent, Events, Tally
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.table_view import TableView
from lastword.pipelines.task.execution import Execution, Surroundings
from lastword.pipelines.task.partition_input import PartitionInput
from lastword.pipelines.task.task_input import TaskInput
from lastword.pipelines.task.task_report import StoreSize
from lastword.pipelines.task.task_stores import StoresAtHand, StoreState
from lastword.records import NO_HEADERS, TopicPartition

Positions = Mapping[TopicPartition, Committed]


class Writer(Protocol):
    """Writes records and positions in one transaction, as ``TransactionWriter`` does."""

    def write(
        self,
        outputs: Mapping[TopicPartition, Sequence[Output]],
        positions_at: PositionsAt,
        group_metadata: bytes,
    ) -> dict[TopicPartition, int]:
        """Commit both; returns the end offset of each partition written."""


class PartitionRun:
    """The next records of one partition, run through the graph and committed.

    ``stores`` stay open: the caller closes them.
    """

    def __init__(
        self,
        plan: TaskPlan,
        given: TaskInput,
        committed: Positions,
        order: BatchOrder,
        stores: StoresAtHand,
    ) -> None:
        self.tally = Tally()
        self.by_store: dict[str, Tally] = {}
        self.stores: dict[str, StoreSize] = {}
        self._plan = plan
        self._given = given
        self._partition = given.partition
        self._committed = committed
        self._order = order
        self._stores = stores
        self._metadata = join_metadata(each.metadata for each in committed.values())
        self._stream_times = self._metadata.stream_times
        self._outputs: defaultdict[TopicPartition, list[Output]] = defaultdict(list)
        self._input = PartitionInput(plan, given, committed, order.spans)
        self.tally.records, self.tally.skipped = self._input.records, self._input.skipped
        self._positions: dict[TopicPartition, Committed] = {}
        self._states: list[tuple[StoreState, StateView]] = []

    def commit(self, writer: Writer, group_metadata: bytes) -> Positions:
        """Process and commit; returns the new position of each source.

        The stores are updated after the commit. If that fails, the changelog has the missing
        updates, and the next run restores them.
        """
        if not self._input.moves:
            return self._committed
        self._quarantine(self._input.bad)
        self.tally.quarantined += len(self._input.bad)
        if self._input.records:
            self._process()
        for state, view in self._states:
            self._log(state, view)
        ends = writer.write(self._outputs, self._next_positions, group_metadata)
        for state, view in self._states:
            state.commit(view, self._changelog_end(state, view, ends))
            self.stores[state.plan.name] = state.size()
        return {**self._committed, **self._positions}

    def _process(self) -> None:
        around = Surroundings(self._views, self._send)
        execution = Execution(self._plan.nodes, self._input, around, self._stream_times)
        execution.run()
        self.tally.add(execution.tally)
        self.by_store = execution.by_store
        self._stream_times = execution.stream_times
        self._quarantine(execution.bad)

    def _views(self, node: StatefulNode) -> list[StateView]:
        """The node's stores, restored to the committed positions."""
        views: list[StateView] = []
        for plan in node.stores:
            state = self._stores.state(plan)
            position = self._metadata.changelogs.get(plan.name, 0)
            if plan.follows:
                start, end = self._order.tables[
                    TopicPartition(plan.changelog or "", self._partition)
                ]
                position = max(position, start)
            self.tally.restored += state.bring_to(position)
            views.append(state.following(position, end) if plan.follows else state.view())
            self._states.append((state, views[-1]))
        return views

    def _log(self, state: StoreState, view: StateView) -> None:
        if state.plan.changelog is not None and not state.plan.follows:
            place = TopicPartition(state.plan.changelog, self._partition)
            self._outputs[place] += view.updates()

    def _send(self, sink: SinkNode, events: Events) -> None:
        """Write to another topic, in the partition of each key."""
        keyspace = self._plan.sink_keyspaces[sink.topic]
        split = None if sink.value is None else split_of(codec(sink.value))
        for i, key in enumerate(events.keys):
            if key is None or not (key or sink.takes_empty_keys):
                self.tally.keyless += 1
                continue
            partition = self._partition if sink.aligned else keyspace.partition_of(key)
            value = events.values[i]
            headers = tuple(events.headers[i].items()) if sink.keeps_headers else NO_HEADERS
            if split is not None and value is not None:
                value, headers = split(value, headers)
            output = (key, value, events.timestamps[i], headers)
            self._outputs[TopicPartition(sink.topic, partition)].append(output)
            self.tally.updates += 1

    def _quarantine(self, bad: list[BadEvent]) -> None:
        place = TopicPartition(self._plan.quarantine_topic, 0)
        for each in bad:
            raw = self._given.topics[each.topic].value_at(each.offset)
            headers = (
                ("lastword-topic", each.topic.encode()),
                ("lastword-partition", str(self._partition).encode()),
                ("lastword-offset", str(each.offset).encode()),
                ("lastword-reason", each.reason.encode()),
            )
            self._outputs[place].append((each.key, raw, NOW, headers))

    def _changelog_end(
        self, state: StoreState, view: StateView, ends: Mapping[TopicPartition, int]
    ) -> int:
        if isinstance(view, TableView):
            return view.position
        place = TopicPartition(state.plan.changelog or "", self._partition)
        return ends.get(place, self._metadata.changelogs.get(state.plan.name, 0))

    def _next_positions(self, ends: Mapping[TopicPartition, int]) -> Positions:
        """The new position of each source, with the ends of the changelogs."""
        changelogs = dict(self._metadata.changelogs)
        for store, changelog in self._plan.changelogs.items():
            place = TopicPartition(changelog, self._partition)
            if place in ends:
                changelogs[store] = ends[place]
        for state, view in self._states:
            if isinstance(view, TableView):
                changelogs[state.plan.name] = view.position
        text = encode_metadata(OffsetMetadata(self._stream_times, changelogs))
        self._positions = {
            TopicPartition(topic, self._partition): Committed(offset, text)
            for topic, offset in self._input.positions.items()
        }
        return self._positions
