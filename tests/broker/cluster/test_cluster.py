"""Instances of one application in this process, on a real broker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import pytest

from lastword.cluster.cluster import Cluster
from lastword.cluster.control_topic import PLAN_KEY, ensure_control_topic
from lastword.cluster.peers import PeerSettings
from lastword.cluster.plan import Assignment, Plan, decode_plan
from lastword.errors import NotReadyError, PeerUnreachableError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups.group_admin import GroupAdmin, StaticMember
from lastword.kafka.groups.names import cluster_group, control_topic
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.shared_tables.peer_pair import SECRET

WAIT_S = 180.0


class Told:
    """The plans that an instance got for one topic."""

    def __init__(self) -> None:
        self.plans: list[Mapping[int, Assignment]] = []

    def __call__(self, assignments: Mapping[int, Assignment]) -> None:
        self.plans.append(assignments)

    @property
    def owned(self) -> set[int]:
        last = self.plans[-1] if self.plans else {}
        return {partition for partition, each in last.items() if each.owner.here}


Start = Callable[..., tuple[Cluster, Told]]


@pytest.fixture
def application(topic_name: str) -> str:
    return topic_name


@pytest.fixture
def group(connection: Connection, application: str) -> Iterator[GroupAdmin]:
    """The group of the application, seen from outside."""
    with closing(GroupAdmin(connection, cluster_group(application))) as asking:
        yield asking


@pytest.fixture
def start(connection: Connection, application: str) -> Iterator[Start]:
    """Starts an instance that offers these topics; returns the plans that it got for the first."""
    with ExitStack() as started:

        def begin(name: str | None = None, **offers: int) -> tuple[Cluster, Told]:
            peer = PeerSettings(secret=SECRET)
            cluster = Cluster(connection, application, instance_id=name, peer=peer)
            started.callback(cluster.close)
            cluster.start()
            told = {topic: Told() for topic in offers}
            for topic, partitions in offers.items():
                cluster.offer(topic, partitions, told[topic], lags=dict)
            return cluster, told[next(iter(offers))]

        yield begin


def plans_written(connection: Connection, application: str) -> list[Plan]:
    records = RealTopic(connection, control_topic(application)).log()
    return [decode_plan(each.value or b"") for each in records if each.key == PLAN_KEY]


def wait_until_owned(told: Told, partitions: set[int]) -> None:
    wait_until(lambda: told.owned == partitions, f"{partitions} are owned")


def has_joined_again(group: GroupAdmin, evicted: StaticMember) -> bool:
    ids = {member.instance_id: member.member_id for member in group.members()}
    return ids.get(evicted.instance_id, evicted.member_id) != evicted.member_id


def names_in(group: GroupAdmin) -> set[str]:
    return {member.instance_id for member in group.members()}


def die(cluster: Cluster) -> None:
    """As after a kill: nothing runs any more, and the membership stays until its session ends."""
    member = cluster._membership._member  # type: ignore[union-attr]
    cluster._steward.close()  # type: ignore[union-attr]
    # It would rejoin when its next life evicts it, and take the instance id from that one again.
    member._leaving.set()
    member._thread.join()
    cluster._control.close()
    cluster._peers.close()


def test_one_instance_alone_owns_everything(start: Start) -> None:
    cluster, told = start(carts=4)
    wait_until_owned(told, {0, 1, 2, 3})
    owner = cluster.owner("carts", 2)
    assert owner is not None
    assert owner == (cluster.instance_id, cluster.address, 1, True)
    assert cluster.owner("carts", 4) is None
    assert cluster.leads
    assert cluster.members == {cluster.instance_id: cluster.address}


def test_a_second_instance_gets_half_of_it_and_nothing_else_moves(
    start: Start, connection: Connection, application: str
) -> None:
    first, told_first = start("a", carts=6)
    wait_until_owned(told_first, {0, 1, 2, 3, 4, 5})
    second, told_second = start("b", carts=6)
    wait_until(lambda: len(told_second.owned) == 3, "half of the partitions")
    wait_until_owned(told_first, {0, 1, 2, 3, 4, 5} - told_second.owned)
    assert second.owner("carts", 0) == first.owner("carts", 0)._replace(here=False)  # type: ignore[union-attr]
    moved = first.metrics.counter("cluster_moved_partitions_total", cause="joined")
    assert moved.value == 3
    assert [plan.number for plan in plans_written(connection, application)] == [1, 2]


def test_an_instance_owns_only_what_it_offers(start: Start) -> None:
    first, carts = start("a", carts=2, users=2)
    _, users = start("b", users=2)
    wait_until_owned(users, {0, 1})
    wait_until_owned(carts, {0, 1})
    owners = [first.owner("users", partition) for partition in range(2)]
    assert {owner and owner.instance_id for owner in owners} == {"b"}


def test_withdrawn_partitions_go_to_other_instances(start: Start) -> None:
    first, told_first = start("a", carts=2)
    _, told_second = start("b", carts=2)
    wait_until(lambda: len(told_first.owned) == len(told_second.owned) == 1, "shared")
    first.withdraw("carts")
    wait_until_owned(told_second, {0, 1})


def test_an_instance_that_closes_leaves_at_once(start: Start, group: GroupAdmin) -> None:
    first, told_first = start("a", carts=2)
    _, told_second = start("b", carts=2)
    wait_until(lambda: len(told_first.owned) == len(told_second.owned) == 1, "shared")
    first.close()
    assert names_in(group) == {"b"}
    wait_until_owned(told_second, {0, 1})
    third, _ = start("c", carts=2)
    wait_until(lambda: names_in(group) == {"b", "c"}, "c to be joining", every=0.01)
    third.close()  # before the group has answered it
    assert names_in(group) == {"b"}


def test_a_wrong_eviction_heals(start: Start, group: GroupAdmin) -> None:
    first, told_first = start("a", carts=2)
    second, told_second = start("b", carts=2)
    wait_until(lambda: len(told_first.owned) == len(told_second.owned) == 1, "shared")
    for name in ("b", "a"):  # one that follows, and the leader
        (evicted,) = [member for member in group.members() if member.instance_id == name]
        assert group.evict(evicted)
        wait_until(partial(has_joined_again, group, evicted), f"{name} has joined again")
        wait_until(
            lambda: (
                len(told_first.owned) == len(told_second.owned) == 1
                and sum(each.leads for each in (first, second)) == 1
            ),
            "shared again, with one leader",
        )


def test_the_earlier_life_of_a_restarted_instance_is_not_this_one(
    start: Start, connection: Connection, application: str
) -> None:
    """The plan at the end still names it, at the address that it had."""
    first, told = start("a", carts=2)
    wait_until_owned(told, {0, 1})
    address = first.address
    die(first)
    again, told_again = start("a", carts=2)
    wait_until_owned(told_again, {0, 1})
    assert again.address != address
    # Nothing that it was told before the leader had seen it made it an owner.
    claimed = [
        each.owner.address for said in told_again.plans for each in said.values() if each.owner.here
    ]
    assert set(claimed) == {again.address}


def test_a_plan_that_was_replaced_is_never_acted_on(
    start: Start, connection: Connection, application: str
) -> None:
    _, told = start("a", carts=2)
    wait_until_owned(told, {0, 1})
    other, told_other = start("b", carts=2)
    wait_until(lambda: len(told_other.owned) == 1, "shared")
    other.close()
    wait_until_owned(told, {0, 1})
    numbers = [plan.number for plan in plans_written(connection, application)]
    assert len(numbers) >= 3
    _, late = start("c", users=1)
    wait_until_owned(late, {0})
    _, told_late = start("d", carts=2)
    wait_until(lambda: told_late.plans, "a first plan")
    assert min(each.owner.plan for each in told_late.plans[0].values()) >= numbers[-1]


def test_members_ask_each_other(start: Start) -> None:
    first, _ = start("a", carts=2)
    second, _ = start("b", carts=2)

    def answer(payload: bytes) -> bytes:
        if payload == b"?":
            raise NotReadyError("not yet", hint="later")
        return payload.upper()

    second.handle("shout", answer)
    wait_until(lambda: "b" in first.members, "b is a member")
    assert first.ask("b", "shout", b"hello", WAIT_S) == b"HELLO"
    with pytest.raises(NotReadyError, match="not yet"):
        first.ask("b", "shout", b"?", WAIT_S)
    with pytest.raises(PeerUnreachableError):
        first.ask("nobody", "shout", b"", WAIT_S)


def test_the_control_topic_is_compacted_and_has_one_partition(
    start: Start, admin: Admin, application: str
) -> None:
    start(carts=1)
    topic = control_topic(application)
    assert admin.describe(topic).partitions == 1
    assert admin.settings(topic)["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("partitions", "policy"), [(2, "compact"), (1, "delete")], ids=["partitions", "policy"]
)
def test_a_topic_that_cannot_hold_plans_is_refused(
    admin: Admin, application: str, partitions: int, policy: str
) -> None:
    topic = control_topic(application)
    settings = {"cleanup.policy": policy}
    admin.create(topic, partitions=partitions, replication=1, settings=settings)
    with pytest.raises(TopicUnfitError, match="cannot be a control topic"):
        ensure_control_topic(admin, topic)


def test_two_processes_with_one_instance_id_do_not_both_own(start: Start) -> None:
    _, told_first = start("a", carts=2)
    wait_until_owned(told_first, {0, 1})
    _, told_second = start("a", carts=2)
    wait_until(
        lambda: (
            [told_first.owned, told_second.owned].count(set()) == 1
            and told_first.owned | told_second.owned == {0, 1}
        ),
        "one of the two owns everything",
    )


def test_a_forked_child_owns_nothing_and_does_not_evict_its_parent(
    start: Start, group: GroupAdmin
) -> None:
    cluster, told = start("a", carts=2)
    wait_until_owned(told, {0, 1})
    before = group.members()
    child = os.fork()
    if child == 0:
        owners = [cluster.owner("carts", partition) for partition in range(2)]
        owns = any(owner is None or owner.here for owner in owners)
        cluster.close()
        os._exit(1 if owns else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert group.members() == before
    assert told.owned == {0, 1}


def test_the_metrics_name_the_leaders(start: Start) -> None:
    cluster, told = start(carts=1)
    wait_until_owned(told, {0})
    samples: dict[str, Any] = {each.name: each.value for each in cluster.metrics.samples()}
    assert samples["cluster_members"] == 1
    assert samples["cluster_plan_number"] == 1
    assert samples["cluster_leads"] == 1
    assert samples["cluster_evictions_total"] == 0
