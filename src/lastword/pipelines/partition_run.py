"""One attempt at one partition's part of a batch: restore, process, commit, store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

from lastword.kafka.groups import Committed, Place
from lastword.kafka.partitioner import partition_for
from lastword.kafka.transaction_writer import Output, TransactionWriter
from lastword.pipelines.events import BadEvent, Events, Tally
from lastword.pipelines.operator import Turn
from lastword.pipelines.partition_state import PartitionState
from lastword.pipelines.plan import (
    Branch,
    PositionNote,
    TaskPlan,
    decode_note,
    encode_note,
)
from lastword.pipelines.state_view import StateView
from lastword.pipelines.task_input import TaskInput, decode, merged

if TYPE_CHECKING:
    import pyarrow as pa

REPORT_SCHEMA = "partition int, " + ", ".join(f"{name} long" for name in asdict(Tally()))


class PartitionRun:
    """What of the input is not committed yet, carried through every branch of the plan."""

    def __init__(
        self, plan: TaskPlan, given: TaskInput, committed: Mapping[Place, Committed]
    ) -> None:
        self.tally = Tally()
        self._plan = plan
        self._given = given
        self._partition = given.partition
        self._positions = {
            topic: committed[place].offset
            for topic in plan.sources
            if (place := Place(topic, given.partition)) in committed
        }
        note = committed.get(Place(plan.note_topic, given.partition), Committed(0, ""))
        self._note = decode_note(note.metadata)
        self._outputs: list[Output] = []
        self._stream_times = dict(self._note.stream_times)

    def commit(self, writer: TransactionWriter, group_metadata: bytes) -> None:
        """Process and commit; the stores follow once Kafka has it all."""
        events = self._events()
        if not self.tally.records:
            return
        with ExitStack() as opened:
            views: list[tuple[PartitionState, StateView]] = []
            for branch in self._plan.branches:
                views += self._process(branch, events, opened)
            self._outputs += [output for state, view in views for output in self._log(state, view)]
            ends = writer.write(self._outputs, self._next_positions, group_metadata)
            for state, view in views:
                state.commit(view, self._changelog_end(state, ends))

    def _events(self) -> dict[str, Events]:
        turn = Turn(tally=self.tally)
        events = {
            topic: decode(self._plan.sources[topic], records, self._positions.get(topic, 0), turn)
            for topic, records in self._given.topics.items()
        }
        self._quarantine(turn.bad)
        return events

    def _process(
        self, branch: Branch, events: Mapping[str, Events], opened: ExitStack
    ) -> list[tuple[PartitionState, StateView]]:
        parts = [events[topic] for topic in sorted(branch.topics) if topic in events]
        if not parts:
            return []
        name = branch.store.name if branch.store else branch.sink or ""
        turn = Turn(self._stream_times.get(name, -1), self.tally)
        flowing = merged(parts)
        for step in branch.steps:
            flowing = step(flowing, turn)
        found: list[tuple[PartitionState, StateView]] = []
        if branch.store is not None:
            state = PartitionState(self._plan, branch.store, self._partition)
            opened.callback(state.close)
            state.bring_to(self._note.changelogs.get(branch.store.name, 0))
            self.tally.restored += state.restored
            view = state.view()
            branch.store.make_operator().process(flowing, view, turn)
            found.append((state, view))
        elif branch.sink is not None:
            self._send(branch.sink, flowing, turn)
        self._stream_times[name] = turn.stream_time_ms
        self._quarantine(turn.bad)
        return found

    def _log(self, state: PartitionState, view: StateView) -> list[Output]:
        if state.plan.changelog is None:
            return []
        place = Place(state.plan.changelog, self._partition)
        return [Output(place, key, value, at_ms) for key, value, at_ms in view.updates()]

    def _send(self, topic: str, events: Events, turn: Turn) -> None:
        """Into another topic, where each key has its own partition."""
        partitions = self._plan.sink_partitions[topic]
        for i, key in enumerate(events.keys):
            if not key:
                turn.tally.keyless += 1
                continue
            place = Place(topic, partition_for(key, partitions))
            self._outputs.append(Output(place, key, events.values[i], events.timestamps[i]))
            turn.tally.updates += 1

    def _quarantine(self, bad: list[BadEvent]) -> None:
        place = Place(self._plan.quarantine_topic, 0)
        for each in bad:
            raw = self._given.topics[each.topic].value_at(each.offset)
            headers = (
                ("lastword-topic", each.topic.encode()),
                ("lastword-partition", str(self._partition).encode()),
                ("lastword-offset", str(each.offset).encode()),
                ("lastword-reason", each.reason.encode()),
            )
            self._outputs.append(Output(place, each.key or b"", raw, 0, headers))

    def _changelog_end(self, state: PartitionState, ends: Mapping[Place, int]) -> int:
        place = Place(state.plan.changelog or "", self._partition)
        return ends.get(place, self._note.changelogs.get(state.plan.name, 0))

    def _next_positions(self, ends: Mapping[Place, int]) -> dict[Place, Committed]:
        """Just after the last record of each topic, with where the changelogs stand by then."""
        changelogs = dict(self._note.changelogs)
        for branch in self._plan.branches:
            if branch.store is not None and branch.store.changelog is not None:
                place = Place(branch.store.changelog, self._partition)
                if place in ends:
                    changelogs[branch.store.name] = ends[place]
        note = encode_note(PositionNote(self._stream_times, changelogs))
        offsets = dict(self._positions)
        offsets.setdefault(self._plan.note_topic, 0)
        for topic, records in self._given.topics.items():
            offsets[topic] = max(offsets.get(topic, 0), records.offsets[-1] + 1)
        return {
            Place(topic, self._partition): Committed(offset, note)
            for topic, offset in offsets.items()
        }

    def to_arrow(self) -> pa.RecordBatch:
        """The one row a task reports."""
        import pyarrow as pa  # noqa: PLC0415 - on executors only

        row = {"partition": self._partition, **asdict(self.tally)}
        types = {name: pa.int32() if name == "partition" else pa.int64() for name in row}
        return pa.RecordBatch.from_arrays(
            [pa.array([value], types[name]) for name, value in row.items()], names=list(row)
        )
