"""Runs one batch of one partition through the nodes of a part.

It is the only interpreter of the graph: tasks, rebuilds and tests differ in the stores they pass
and in what happens to the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lastword.pipelines.graph.node import (
    MergeNode,
    Node,
    SinkNode,
    SourceNode,
    StatefulNode,
    StepNode,
)
from lastword.pipelines.operators.events import BadEvent, Events, Tally
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.state_view import StateView
from lastword.pipelines.task.partition_input import PartitionInput


@dataclass(frozen=True)
class Surroundings:
    """What a batch needs: views of a node's stores, and an output for events."""

    views: Callable[[StatefulNode], Sequence[StateView]]
    send: Callable[[SinkNode, Events], None]


class Execution:
    """One batch; ``run`` may be called once.

    A node without input in this batch does not run: its stores are not opened, and its stream time
    does not change.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        given: PartitionInput,
        around: Surroundings,
        stream_times: Mapping[str, int],
    ) -> None:
        self.tally = Tally()
        self.by_store: dict[str, Tally] = {}
        self.bad: list[BadEvent] = []
        self.stream_times = dict(stream_times)
        self._nodes = nodes
        self._given = given
        self._around = around
        self._flowing: dict[str, Events] = {}

    def run(self) -> None:
        """Run every node. Events that no later node needs are freed on the way."""
        last = {name: node for node in self._nodes for name in node.inputs}
        for node in self._nodes:
            events = self._arrived(node)
            if events is not None:
                self._flowing[node.name] = self._through(node, events)
            for name in node.inputs:
                if last[name] is node:
                    self._flowing.pop(name, None)

    def _arrived(self, node: Node) -> Events | None:
        """The events of all inputs as one stream; None if no input has any."""
        if isinstance(node, SourceNode):
            return self._given.events(node.topic)
        if len(node.inputs) == 1:
            return self._flowing.get(node.inputs[0])
        parts = [self._flowing.get(name) for name in node.inputs]
        tells_inputs = not isinstance(node, MergeNode)
        given = [
            replace(part, inputs=[n] * len(part)) if tells_inputs else part
            for n, part in enumerate(parts)
            if part is not None
        ]
        filled = [part for part in given if len(part)] or given[:1]
        if len(filled) > 1:
            return self._given.merged(filled)
        return filled[0] if filled else None

    def _through(self, node: Node, events: Events) -> Events:
        if isinstance(node, StatefulNode):
            return self._update(node, events)
        if isinstance(node, StepNode):
            context = BatchContext(tally=self.tally)
            given = node.step(events, context)
            self.bad += context.bad
            return given
        if isinstance(node, SinkNode):
            self._around.send(node, events)
            return Events.none()
        return events

    def _update(self, node: StatefulNode, events: Events) -> Events:
        context = BatchContext(self.stream_times.get(node.name, -1))
        given = node.make_operator().process(events, self._around.views(node), context)
        self.stream_times[node.name] = context.stream_time_ms
        self.by_store[node.name] = context.tally
        self.tally.add(context.tally)
        self.bad += context.bad
        return given
