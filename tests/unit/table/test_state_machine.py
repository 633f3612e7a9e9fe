from __future__ import annotations

import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.table.table import Table
from lastword.table.table_state import OPEN_STATES, TRANSITIONS, StateMachine, TableState

S = TableState
EVERY_STATE = frozenset(TableState)


@given(st.lists(st.sampled_from(TableState), max_size=30))
def test_only_valid_transitions_happen(wanted: list[TableState]) -> None:
    heard: list[tuple[TableState, TableState]] = []
    machine = StateMachine(lambda old, new: heard.append((old, new)))
    for state in wanted:
        before = machine.state
        allowed = state in TRANSITIONS[before]
        assert machine.move(state) is allowed
        assert machine.state is (state if allowed else before)
        assert machine.is_open == (machine.state in OPEN_STATES)
    assert all(new in TRANSITIONS[old] for old, new in heard)
    assert all(first[1] is second[0] for first, second in pairwise(heard))


def test_every_state_says_where_it_can_go() -> None:
    assert set(TRANSITIONS) == EVERY_STATE


@pytest.mark.parametrize("state", sorted(EVERY_STATE - {S.STOPPED, S.PENDING_SHUTDOWN}))
def test_a_table_can_be_closed_from_every_state(state: TableState) -> None:
    assert S.PENDING_SHUTDOWN in TRANSITIONS[state]


def test_a_stopped_table_stays_stopped() -> None:
    assert not TRANSITIONS[S.STOPPED]


def test_waiting_ends_with_the_change_that_is_waited_for() -> None:
    machine = StateMachine(None)
    machine.move(S.RESTORING)
    answers: list[TableState] = []
    waiter = threading.Thread(
        target=lambda: answers.append(machine.wait_while(frozenset((S.RESTORING,)), 10.0))
    )
    waiter.start()
    machine.move(S.RUNNING)
    waiter.join(180.0)
    assert answers == [S.RUNNING]


def test_waiting_ends_after_the_timeout_with_the_current_state() -> None:
    machine = StateMachine(None)
    assert machine.wait_while(frozenset((S.CREATED,)), 0.01) is S.CREATED


def test_a_slow_listener_still_gets_the_changes_in_order() -> None:
    heard: list[TableState] = []
    told, go_on = threading.Event(), threading.Event()

    def listen(_old: TableState, new: TableState) -> None:
        if new is S.RESTORING:
            told.set()
            assert go_on.wait(180.0)
        heard.append(new)

    machine = StateMachine(listen)
    slow = threading.Thread(target=machine.move, args=(S.RESTORING,))
    slow.start()
    assert told.wait(180.0)
    fast = threading.Thread(target=machine.move, args=(S.RUNNING,))
    fast.start()
    go_on.set()
    slow.join(180.0)
    fast.join(180.0)
    assert heard == [S.RESTORING, S.RUNNING]


def test_a_listener_may_look_at_the_machine_it_listens_to() -> None:
    seen: list[TableState] = []
    machine = StateMachine(lambda _old, _new: seen.append(machine.state))
    machine.move(S.RESTORING)
    assert seen == [S.RESTORING]


def test_a_table_rebalances_only_after_it_has_served() -> None:
    life = Table("rows", bootstrap_servers="localhost:1")._lifecycle
    life.machine.move(S.RESTORING)
    life._on_readiness(False, True)
    assert life.machine.state is S.RESTORING
    life._on_readiness(True, False)
    life._on_readiness(False, True)
    assert life.machine.state is S.REBALANCING
