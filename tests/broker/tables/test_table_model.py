"""A table compared with a dict, under random operations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run

from lastword.records import Version
from lastword.table.table import Table
from lastword.table.watch import Watch
from lastword.table.writing.conditions import TOMBSTONE
from tests.support.local_tables.tables import Tables

SHORT = st.text("ab", min_size=1, max_size=3)
KEYS = SHORT | st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
VALUES = st.none() | st.integers(-5, 5) | st.text(max_size=3) | st.lists(st.integers(0, 2))
BATCHES = st.lists(st.tuples(KEYS, VALUES | st.just(TOMBSTONE)), max_size=8)
BOUNDS = st.none() | KEYS


class TableMachine(RuleBasedStateMachine):
    """One example: its keys share a prefix, so that the next one finds an empty table there."""

    table: Table
    examples = 0

    @initialize()
    def begin(self) -> None:
        type(self).examples += 1
        self.prefix = f"{self.examples:04}/"
        self.model: dict[str, Any] = {}
        self.versions: dict[str, Version] = {}
        self.changes: list[tuple[str, Any, bool]] = []
        self.watch: Watch = self.table.watch()

    def teardown(self) -> None:
        self.watch.close()

    def note(self, key: str, value: Any, version: Version | None) -> None:
        assert version is not None
        if value is TOMBSTONE:
            self.model.pop(key, None)
            self.versions.pop(key, None)
            self.changes.append((key, None, True))
        else:
            self.model[key] = value
            self.versions[key] = version
            self.changes.append((key, value, False))

    @rule(key=KEYS, value=VALUES)
    def put(self, key: str, value: Any) -> None:
        self.note(key, value, self.table.put(self.prefix + key, value))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.note(key, TOMBSTONE, self.table.delete(self.prefix + key))

    @rule(batch=BATCHES)
    def put_many(self, batch: list[tuple[str, Any]]) -> None:
        outcomes = self.table.put_many([(self.prefix + key, value) for key, value in batch])
        for (key, value), outcome in zip(batch, outcomes, strict=True):
            assert (outcome.key, outcome.status) == (self.prefix + key, "ok")
            self.note(key, value, outcome.version)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        assert self.table.get(self.prefix + key, "absent") == self.model.get(key, "absent")
        assert ((self.prefix + key) in self.table) is (key in self.model)
        entry = self.table.entry(self.prefix + key)
        assert (entry and entry.version) == self.versions.get(key)

    @rule(keys=st.lists(KEYS, max_size=6))
    def get_many(self, keys: list[str]) -> None:
        found = self.table.get_many(self.prefix + key for key in keys)
        expected = {self.prefix + key: self.model[key] for key in keys if key in self.model}
        assert found == expected

    @rule(start=BOUNDS, end=BOUNDS, reverse=st.booleans())
    def walk_a_range(self, start: str | None, end: str | None, reverse: bool) -> None:
        if start is not None and end is not None and end < start:
            start, end = end, start
        first = self.prefix + (start or "")
        last = self.prefix[:-1] + "0" if end is None else self.prefix + end
        walked = [
            (key.removeprefix(self.prefix), value)
            for key, value in self.table.range(first, last, reverse=reverse)
        ]
        expected = [
            (key, value)
            for key, value in sorted(self.model.items(), reverse=reverse)
            if key >= (start or "") and (end is None or key < end)
        ]
        assert walked == expected

    @rule(prefix=st.text("ab", max_size=2), reverse=st.booleans())
    def walk_a_prefix(self, prefix: str, reverse: bool) -> None:
        walked = [key for key, _ in self.table.prefix(self.prefix + prefix, reverse=reverse)]
        expected = [
            self.prefix + key
            for key in sorted(self.model, reverse=reverse)
            if key.startswith(prefix)
        ]
        assert walked == expected

    @rule()
    def catch_up_with_the_watch(self) -> None:
        seen = [self.watch.take(20.0) for _ in self.changes]
        assert all(change is not None for change in seen)
        watched = [(c.key.removeprefix(self.prefix), c.value, c.deleted) for c in seen if c]
        for key in {key for key, _, _ in self.changes}:
            of_key = [change for change in self.changes if change[0] == key]
            assert [change for change in watched if change[0] == key] == of_key
        self.changes.clear()

    @invariant()
    def everything_is_there(self) -> None:
        keys = [key for key, _ in self.table.prefix(self.prefix)]
        assert keys == [self.prefix + key for key in sorted(self.model)]


@pytest.fixture
def table(topic: str, tables: Tables, store: str) -> Table:
    return tables.open(topic, store=store)


def test_a_table_behaves_like_a_dict_that_is_sorted_and_watched(table: Table) -> None:
    machine = type("Machine", (TableMachine,), {"table": table})
    run(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        ),
    )
    assert machine.examples >= 1
