"""The changes of a database table, and the table that they keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

from lastword.cdc.change import Row, RowChange, Transactions
from lastword.errors import ConfigError
from lastword.pipelines.api.result import Result
from lastword.pipelines.api.store_options import NO_SETTINGS, Settings, as_settings, changelog_of
from lastword.pipelines.api.stream import Stream
from lastword.pipelines.graph.node import StorePlan
from lastword.pipelines.graph.repartition import through_topic
from lastword.pipelines.graph.topology import OwnTopic, Topology, check_name
from lastword.pipelines.operators.mirror import MirrorRows
from lastword.pipelines.operators.mirror_shape import PLAIN, Shape
from lastword.pipelines.operators.owned_keys import OwnedKeys


@dataclass(frozen=True)
class ChangeStream:
    """Changes of the rows of one table, in the order in which the database committed them.

    Functions given here are functions of a row, a dict of its columns. They run on executors, and
    again for the same row after a failure.
    """

    topology: Topology
    node: str
    shape: Shape = PLAIN

    def filter(self, predicate: Callable[[Row], Any]) -> ChangeStream:
        """Only the rows for which ``predicate(row)`` holds; one that stops matching is deleted."""
        return replace(self, shape=self.shape.filtered(predicate))

    def map_values(self, function: Callable[[Row], Row]) -> ChangeStream:
        """The same rows with ``function(row)`` as their columns."""
        return replace(self, shape=self.shape.mapped(function))

    def select_key(self, function: Callable[[Row], str | int]) -> ChangeStream:
        """The same rows under ``function(row)`` instead of their primary key.

        Of several rows with the same key, the last one written is shown, and when it goes, the
        key goes.
        """
        if self.shape.key is not None:
            raise ConfigError("select_key() was called twice", hint="call it once, as the last one")
        return replace(self, shape=replace(self.shape, key=function))

    def events(self) -> Stream:
        """The changes themselves, as a stream of RowChange under the connector's keys.

        Each has its operation, the row before and after where the database sends it, its position
        and its transaction.
        """
        if self.shape.tells:
            raise ConfigError(
                "events() has the changes as they come", hint="filter and map the stream instead"
            )
        return Stream(self.topology, self.node, "string", None)

    def to_table(
        self,
        topic: str,
        *,
        transactions: Transactions = "last",
        settings: Settings = NO_SETTINGS,
    ) -> Result:
        """Keep the table in a compacted topic, row by row under its primary key.

        The topic is the pipeline's own and has one partition, as its source has. By default a row
        that changed several times within one commit of the pipeline is written once. With
        ``transactions="ordered"`` every change is a record, in the order of the database's log,
        and the header ``lastword-source`` of each names its transaction.
        """
        if transactions not in get_args(Transactions):
            raise ConfigError(
                f"transactions cannot be {transactions!r}",
                hint=f"choose {' or '.join(get_args(Transactions))}",
            )
        every_update = transactions == "ordered"
        check_name(topic, "a table")
        if not self.shape.tells:
            self.topology.add_own_topic(OwnTopic(topic, "changelog", as_settings(settings)))
            self._mirror(topic, topic, every_update)
        else:
            self._shaped(topic, every_update, settings)
        self.topology.catalog(topic, key="string", value="row", store=topic)
        return Result(topic, topic, "string", "row")

    def _mirror(self, store: str, changelog: str | None, every_update: bool) -> str:
        marks = f"{store}-marks"
        stores = (
            StorePlan(store, changelog, every_update),
            StorePlan(marks, changelog_of(self.topology, marks, NO_SETTINGS)),
        )
        make = partial(MirrorRows, self.shape)
        return self.topology.add_stateful("mirror", (self.node,), stores, make, is_result=True)

    def _shaped(self, topic: str, every_update: bool, settings: Settings) -> None:
        """A table that differs from the mirror, which is then kept as well.

        A column that the database did not send comes from the mirror, and so does the key under
        which a row was shown before.
        """
        rows = f"{topic}-rows"
        node = self._mirror(rows, changelog_of(self.topology, rows, NO_SETTINGS), every_update)
        if self.shape.key is None:
            table = OwnTopic(topic, "table", as_settings(settings))
            self.topology.add_sink(node, table, keeps_headers=True)
            return
        node = through_topic(self.topology, topic, node, None)
        self.topology.add_own_topic(OwnTopic(topic, "changelog", as_settings(settings)))
        stores = (StorePlan(topic, topic, every_update),)
        self.topology.add_stateful("owned keys", (node,), stores, OwnedKeys, is_result=True)


def committed_at(change: RowChange) -> int:
    """When the database committed a change, which is the time of its row."""
    return change.source_ms
