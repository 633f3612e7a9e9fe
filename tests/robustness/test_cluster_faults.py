"""Instances of one application in separate processes that are killed, frozen and restarted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.cluster.control_topic import PLAN_KEY
from lastword.cluster.forecast import moves_between
from lastword.cluster.plan import Plan, decode_plan
from lastword.kafka.connection import Connection
from lastword.kafka.groups.names import control_topic
from lastword.kafka.write.fenced import decode_fence
from lastword.records import FENCE_KEY
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.shared_tables.cluster_process import (
    ClusterProcess,
    ClusterProcesses,
    wait_until_shared,
)

TOPIC, PARTITIONS = "carts", 6


@pytest.fixture
def instances(connection: Connection, topic_name: str) -> Iterator[ClusterProcesses]:
    with ClusterProcesses(connection.bootstrap_servers, topic_name) as started:
        yield started


def start(instances: ClusterProcesses, names: str) -> list[ClusterProcess]:
    """Instances of these names, which share the topic when this returns."""
    started = [instances.start(name, **{TOPIC: PARTITIONS}) for name in names]
    wait_until_shared(started, TOPIC, PARTITIONS)
    return started


def leader_of(processes: list[ClusterProcess]) -> ClusterProcess:
    def leaders() -> list[ClusterProcess]:
        return [process for process in processes if process.ask("leads")]

    return wait_until(lambda: found[0] if len(found := leaders()) == 1 else None, "one leader")


def plans_by_leader(connection: Connection, application: str) -> list[tuple[str, Plan]]:
    """(who held the fence, plan) for each plan of the control topic, in order."""
    written, holder = [], ""
    for record in RealTopic(connection, control_topic(application)).log():
        if record.key == FENCE_KEY:
            fence = decode_fence(record.value)
            assert fence is not None
            holder = fence.instance
        elif record.key == PLAN_KEY:
            written.append((holder, decode_plan(record.value or b"")))
    return written


def check_written_in_order(connection: Connection, application: str) -> list[Plan]:
    """Each plan is by the holder of the last fence before it, and has the next number."""
    written = plans_by_leader(connection, application)
    assert all(plan.leader == holder for holder, plan in written)
    numbers = [plan.number for _, plan in written]
    assert numbers == sorted(set(numbers))
    return [plan for _, plan in written]


def test_killed_members_are_evicted_and_their_partitions_move(
    instances: ClusterProcesses, connection: Connection, topic_name: str
) -> None:
    live = start(instances, "abc")
    leader = leader_of(live)
    owner = next(process for process in live if process is not leader)
    rest = [process for process in live if process is not owner]
    before = {process.name: set(process.owned(TOPIC) or ()) for process in rest}
    owner.kill()
    wait_until_shared(rest, TOPIC, PARTITIONS)
    assert all(before[process.name] <= set(process.owned(TOPIC) or ()) for process in rest)
    assert leader.ask("evictions") == 1

    (last,) = [process for process in rest if process is not leader]
    leader.kill()  # it owned partitions, too
    wait_until_shared([last], TOPIC, PARTITIONS)
    assert last.ask("evictions") == 1
    assert leader_of([last]) is last
    plans = check_written_in_order(connection, topic_name)
    assert [sorted(plan.members) for plan in plans[-2:]] == [
        sorted((leader.name, last.name)),
        [last.name],
    ]


def test_a_newcomer_takes_its_share_and_no_more_moves(
    instances: ClusterProcesses, connection: Connection, topic_name: str
) -> None:
    two = start(instances, "ab")
    before = {process.name: set(process.owned(TOPIC) or ()) for process in two}
    newcomer = instances.start("c", **{TOPIC: PARTITIONS})
    wait_until_shared([*two, newcomer], TOPIC, PARTITIONS)
    for process in two:
        kept = set(process.owned(TOPIC) or ())
        assert kept < before[process.name]
        assert len(kept) == 2
    last_but_one, last = check_written_in_order(connection, topic_name)[-2:]
    assert len(moves_between(last_but_one, last)) == 2


def test_a_frozen_leader_that_wakes_up_writes_no_plan(
    instances: ClusterProcesses, connection: Connection, topic_name: str
) -> None:
    live = start(instances, "abc")
    frozen = leader_of(live)
    rest = [process for process in live if process is not frozen]
    frozen.freeze()
    wait_until_shared(rest, TOPIC, PARTITIONS)
    known = len(frozen.plans)
    successor = leader_of(rest)
    frozen.go_on()
    wait_until_shared(live, TOPIC, PARTITIONS)
    assert leader_of(live) is successor
    plans = check_written_in_order(connection, topic_name)
    taken_over = next(n for n, plan in enumerate(plans) if plan.leader == successor.name)
    assert {plan.leader for plan in plans[taken_over:]} == {successor.name}
    # Nor did it act on a plan that was replaced while it was frozen.
    numbers = [number for _, number, _ in frozen.plans[known:]]
    assert min(numbers) > plans[taken_over].number - 1


def test_a_restarted_member_does_not_act_on_the_plan_of_its_earlier_life(
    instances: ClusterProcesses, connection: Connection, topic_name: str
) -> None:
    live = start(instances, "ab")
    leader = leader_of(live)
    (victim,) = [process for process in live if process is not leader]
    last = plans_by_leader(connection, topic_name)[-1][1]
    victim.kill()
    again = instances.start(victim.name, **{TOPIC: PARTITIONS})
    wait_until_shared([leader, again], TOPIC, PARTITIONS)
    acted_on = [number for _, number, owned in again.plans if owned]
    assert min(acted_on) > last.number


def test_members_survive_a_restart_of_their_broker(
    own_broker: EmbeddedBroker, topic_name: str
) -> None:
    with ClusterProcesses(own_broker.bootstrap_servers, topic_name) as instances:
        (first,) = start(instances, "a")
        own_broker.kill()
        own_broker.start()
        second = instances.start("b", **{TOPIC: PARTITIONS})
        wait_until_shared([first, second], TOPIC, PARTITIONS)
        second.kill()
        wait_until_shared([first], TOPIC, PARTITIONS)
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    assert len(check_written_in_order(connection, topic_name)) >= 3
