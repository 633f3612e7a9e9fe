"""One attempt at one partition's part of a batch: restore, process, commit, store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack

from lastword.kafka.groups import Committed
from lastword.kafka.log.source import LogSource
from lastword.kafka.write.transaction_writer import NOW, Output, TransactionWriter
from lastword.pipelines.graph.plan import (
    BatchOrder,
    Branch,
    PositionNote,
    Sink,
    Stateful,
    Step,
    StorePlan,
    TaskPlan,
    encode_note,
    join_notes,
)
from lastword.pipelines.operators.events import BadEvent, Events, Tally
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.operators.table_view import TableView
from lastword.pipelines.task.partition_input import PartitionInput
from lastword.pipelines.task.partition_state import PartitionState
from lastword.pipelines.task.task_input import TaskInput
from lastword.pipelines.task.task_report import StoreSize
from lastword.records import NO_HEADERS, TopicPartition

Positions = Mapping[TopicPartition, Committed]


class PartitionRun:
    """The next records of one partition, carried through every branch of the plan."""

    def __init__(
        self,
        plan: TaskPlan,
        given: TaskInput,
        committed: Positions,
        order: BatchOrder,
        log_source: LogSource,
    ) -> None:
        self.tally = Tally()
        self.by_store: dict[str, Tally] = {}
        self.stores: dict[str, StoreSize] = {}
        self._plan = plan
        self._given = given
        self._partition = given.partition
        self._committed = committed
        self._order = order
        self._log_source = log_source
        self._note = join_notes(each.metadata for each in committed.values())
        self._stream_times = dict(self._note.stream_times)
        self._outputs: defaultdict[TopicPartition, list[Output]] = defaultdict(list)
        self._input = PartitionInput(plan, given, committed, order.spans)
        self.tally.records, self.tally.skipped = self._input.records, self._input.skipped
        self._positions: dict[TopicPartition, Committed] = {}
        self._flowed: dict[tuple[object, ...], Events] = {}
        self._states: list[tuple[PartitionState, StateView]] = []
        self._opened = ExitStack()

    def commit(self, writer: TransactionWriter, group_metadata: bytes) -> Positions:
        """Process and commit; returns where each source stands then.

        The stores follow once Kafka has it all. Should that fail, the changelog has what they
        lack, and the next task brings them there.
        """
        if not self._input.moves:
            return self._committed
        self._quarantine(self._input.bad)
        self.tally.quarantined += len(self._input.bad)
        with ExitStack() as opened:
            self._opened = opened
            for branch in self._plan.branches if self._input.records else ():
                self._process(branch)
            for state, view in self._states:
                self._log(state, view)
            ends = writer.write(self._outputs, self._next_positions, group_metadata)
            for state, view in self._states:
                state.commit(view, self._changelog_end(state, view, ends))
                self.stores[state.plan.name] = state.size()
        return {**self._committed, **self._positions}

    def _process(self, branch: Branch) -> None:
        """Through every stage. Branches that begin alike share what they have in common."""
        # The plan came here in one piece: a stage that several branches share is one object.
        path: tuple[object, ...] = (branch.topics,)
        if path not in self._flowed:
            events = self._input.merged(branch.topics)
            if events is None:
                return
            self._flowed[path] = events
        flowing = self._flowed[path]
        for step in branch.steps:
            path = (*path, id(step))
            if path not in self._flowed:
                self._flowed[path] = self._step(step, flowing)
            flowing = self._flowed[path]
        if branch.sink is not None:
            self._send(branch.sink, flowing)

    def _step(self, step: Step, events: Events) -> Events:
        if isinstance(step, Stateful):
            context = BatchContext(self._stream_times.get(step.name, -1))
            given = step.make_operator().process(events, self._views(step), context)
            self._stream_times[step.name] = context.stream_time_ms
            self.by_store[step.name] = context.tally
            self.tally.add(context.tally)
        else:
            context = BatchContext(tally=self.tally)
            given = step(events, context)
        self._quarantine(context.bad)
        return given

    def _views(self, stage: Stateful) -> list[StateView]:
        """The stage's stores, brought to where the committed positions say they are."""
        views: list[StateView] = []
        for plan in stage.stores:
            state = self._state(plan)
            self._opened.callback(state.close)
            position = self._note.changelogs.get(plan.name, 0)
            if plan.follows:
                start, end = self._order.tables[
                    TopicPartition(plan.changelog or "", self._partition)
                ]
                position = max(position, start)
            state.bring_to(position)
            self.tally.restored += state.restored
            views.append(state.following(position, end) if plan.follows else state.view())
            self._states.append((state, views[-1]))
        return views

    def _state(self, plan: StorePlan) -> PartitionState:
        return PartitionState(self._plan, plan, self._partition, self._log_source)

    def _log(self, state: PartitionState, view: StateView) -> None:
        if state.plan.changelog is not None and not state.plan.follows:
            place = TopicPartition(state.plan.changelog, self._partition)
            self._outputs[place] += view.updates()

    def _send(self, sink: Sink, events: Events) -> None:
        """Into another topic, where each key has its own partition."""
        keyspace = self._plan.sink_keyspaces[sink.topic]
        for i, key in enumerate(events.keys):
            if key is None or not (key or sink.takes_empty_keys):
                self.tally.keyless += 1
                continue
            partition = self._partition if sink.aligned else keyspace.partition_of(key)
            output = (key, events.values[i], events.timestamps[i], NO_HEADERS)
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
        self, state: PartitionState, view: StateView, ends: Mapping[TopicPartition, int]
    ) -> int:
        if isinstance(view, TableView):
            return view.position
        place = TopicPartition(state.plan.changelog or "", self._partition)
        return ends.get(place, self._note.changelogs.get(state.plan.name, 0))

    def _next_positions(self, ends: Mapping[TopicPartition, int]) -> Positions:
        """Where each source stands now, with where the changelogs stand by then."""
        changelogs = dict(self._note.changelogs)
        for store, changelog in self._plan.changelogs.items():
            place = TopicPartition(changelog, self._partition)
            if place in ends:
                changelogs[store] = ends[place]
        for state, view in self._states:
            if isinstance(view, TableView):
                changelogs[state.plan.name] = view.position
        note = encode_note(PositionNote(self._stream_times, changelogs))
        self._positions = {
            TopicPartition(topic, self._partition): Committed(offset, note)
            for topic, offset in self._input.positions.items()
        }
        return self._positions
