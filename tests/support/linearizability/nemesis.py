"""What happens to instances and brokers while they work: one fault at a time, then they recover."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from lastword.testing import wait_until
from tests.support.linearizability.instances import Instance, Instances
from tests.support.network.harmed_cluster import HarmedCluster
from tests.support.network.kafka_proxy import END_TXN, PRODUCE

log = logging.getLogger(__name__)

BEYOND_THE_SESSION_S = 8.0
"""Longer than the group's session, the detector's patience and every lease."""
BEYOND_THE_LEASE_S = 1.6
RECOVERED_S = 90.0
RECOVERED_WRITES = 40


class Nemesis:
    """Harms the instances of one application and the brokers of their topic.

    Every fault ends with all instances at work again: a table that does not recover is found,
    too.
    """

    def __init__(
        self, instances: Instances, cluster: HarmedCluster, topic: str, dice: random.Random
    ) -> None:
        self._instances = instances
        self._cluster = cluster
        self._topic = topic
        self._dice = dice

    @property
    def faults(self) -> list[Callable[[], None]]:
        """Everything that can happen."""
        return [
            self.kill,
            self.freeze_beyond_the_session,
            self.freeze_beyond_the_lease,
            self.replace_in_order,
            self.kill_broker,
            self.kill_two,
            self.cut_connections,
            self.cut_peer_connections,
            self.delay_peer_messages,
            self.delay_requests_of_a_frozen_instance,
            self.delay_requests_of_a_dead_instance,
            self.delay_acknowledgements,
        ]

    @property
    def worst(self) -> list[Callable[[], None]]:
        """Those that are most likely to find something.

        Two of them freeze an instance until others have written in its place, which is shorter
        than its session and longer than everything else.
        """
        return [
            self.delay_requests_of_a_dead_instance,
            self.delay_acknowledgements,
            self.kill_broker,
            self.delay_requests_of_a_frozen_instance,
            self.cut_peer_connections,
            self.delay_peer_messages,
        ]

    @property
    def worst_for_transactions(self) -> list[Callable[[], None]]:
        """Those that are most likely to find something in another way to append."""
        return [self.delay_requests_of_a_dead_instance, self.delay_acknowledgements]

    def strike(self, fault: Callable[[], None]) -> None:
        """Cause one fault, and wait until writes continue."""
        began = time.monotonic()
        fault()
        self._wait_until_recovered(fault.__name__)
        log.info("%s: writes go on after %.1f s", fault.__name__, time.monotonic() - began)

    def kill(self) -> None:
        """Kill an instance and start another one."""
        self._victim().kill()
        self._instances.start().wait_ready()

    def kill_two(self) -> None:
        """Kill two at once, which includes a leader more often than not."""
        for victim in self._dice.sample(self._instances.running, 2):
            victim.kill()
        for starting in [self._instances.start(), self._instances.start()]:
            starting.wait_ready()

    def freeze_beyond_the_session(self) -> None:
        """A zombie: it wakes up when others own its partitions."""
        self._freeze(BEYOND_THE_SESSION_S)

    def freeze_beyond_the_lease(self) -> None:
        """Long enough to be suspected, and to answer with what it knew."""
        self._freeze(BEYOND_THE_LEASE_S)

    def replace_in_order(self) -> None:
        """An instance leaves and another one comes, as in a rolling restart."""
        self._victim().leave()
        self._instances.start().wait_ready()

    def kill_broker(self) -> None:
        """Kill the broker that leads a partition and start it again."""
        partition = self._dice.randrange(len(self._cluster.admin.describe(self._topic).layout))
        node = self._cluster.leader(self._topic, partition)
        with self._cluster.harmed(node, "killed", [self._topic]):
            self._cluster.wait_until_led_by_another(self._topic, partition, node)

    def cut_connections(self) -> None:
        """Close all connections between an instance and the brokers, again and again."""
        network = self._instances.network_of(self._victim())
        for _ in range(3):
            network.cut()
            self._pass(0.3)

    def cut_peer_connections(self) -> None:
        """Break the connections to an instance: of forwarded writes, some have been applied."""
        peers = self._instances.peers_of(self._victim())
        for _ in range(10):
            peers.cut()
            self._pass(0.1)

    def delay_peer_messages(self) -> None:
        """Writes forwarded to an instance reach it when others own its partitions, or get lost."""
        victim = self._victim()
        with self._instances.peers_of(victim).silent():
            self._wait_for_successors(victim)
        self._pass(0.5)
        with self._instances.peers_of(victim).silent():
            self._pass(BEYOND_THE_LEASE_S)
            self._instances.peers_of(victim).cut()

    def delay_requests_of_a_frozen_instance(self) -> None:
        """Batches that are in the network while their sender is frozen and replaced."""
        victim = self._victim()
        with self._instances.network_of(victim).holding("request", PRODUCE, END_TXN) as held:
            held.wait_for(1, RECOVERED_S)
            victim.freeze()
            self._wait_for_successors(victim)
        self._pass(0.5)
        victim.go_on()

    def delay_requests_of_a_dead_instance(self) -> None:
        """Batches that arrive when their sender is dead and replaced."""
        victim = self._victim()
        with self._instances.network_of(victim).holding("request", PRODUCE, END_TXN) as held:
            held.wait_for(1, RECOVERED_S)
            victim.kill()
            self._wait_for_successors(victim)
        self._pass(0.5)
        self._instances.start().wait_ready()

    def delay_acknowledgements(self) -> None:
        """Batches that are written, and whose sender learns of it after it was replaced."""
        victim = self._victim()
        with self._instances.network_of(victim).holding("response", PRODUCE, END_TXN) as held:
            held.wait_for(1, RECOVERED_S)
            victim.freeze()
            self._wait_for_successors(victim)
        victim.go_on()

    def wait_until_all_write(self) -> None:
        """Until every instance has begun to write."""
        self._wait_until_recovered("the start")

    def _wait_until_recovered(self, what: str) -> None:
        before = {each.name: each.acknowledged() for each in self._instances.running}
        wait_until(
            lambda: all(
                each.acknowledged() >= before.get(each.name, 0) + RECOVERED_WRITES
                for each in self._instances.running
            ),
            f"writes after {what}",
            timeout=RECOVERED_S,
        )

    def _wait_for_successors(self, victim: Instance) -> None:
        """Until others have written in every partition, those of the victim included."""
        others = [each for each in self._instances.running if each is not victim]
        before = {each.name: each.partitions_written() for each in others}
        partitions = range(len(self._cluster.admin.describe(self._topic).layout))

        def taken_over() -> bool:
            written = [each.partitions_written() - before[each.name] for each in others]
            return all(sum(counts[p] for counts in written) > 0 for p in partitions)

        wait_until(taken_over, "the partitions of the victim to be taken over", timeout=RECOVERED_S)

    def _freeze(self, seconds: float) -> None:
        victim = self._victim()
        victim.freeze()
        self._pass(seconds)
        victim.go_on()

    @staticmethod
    def _pass(seconds: float) -> None:
        until = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() >= until, "some time", timeout=seconds + 60)

    def _victim(self) -> Instance:
        return self._dice.choice(self._instances.running)
