"""The instances of one application, seen from one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.cluster.control_topic import PARTITION, ControlTopic, ensure_control_topic
from lastword.cluster.copies import PlanLimits
from lastword.cluster.forecast import moves_between
from lastword.cluster.hearing import Hearing
from lastword.cluster.leadership import Leadership, Report
from lastword.cluster.lookout import Lookout
from lastword.cluster.member_reports import MemberReports
from lastword.cluster.membership import Membership, checked_instance_id
from lastword.cluster.movements import CAUSES, Movement, cause_of
from lastword.cluster.offers import PLAIN, LagsNow, Offers, OnPlan, Traits
from lastword.cluster.peers.endpoint import Handler
from lastword.cluster.peers.peer_settings import PeerSettings
from lastword.cluster.peers.peers import Peers
from lastword.cluster.plan import Assignment, Owner, Plan
from lastword.cluster.planning import DEFAULT_LIMITS
from lastword.cluster.steward import Steward
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.forks import track
from lastword.kafka.groups.names import control_topic, owner_transactional_id
from lastword.kafka.write.fenced import FencedLog, open_fenced_log
from lastword.metrics import Metrics

log = logging.getLogger(__name__)

DRAIN = "cluster.drain"
DRAIN_S = 5.0
ANNOUNCE_S = 5.0
_POLL_S = 0.05
PLAN_WRITE_S = 10.0
PLAN_BYTES_MAX = 1_000_000


class Cluster:
    """Membership, plan and peers of one instance; safe from any thread.

    One per process and application id. The leader writes a plan to the control topic; the plan
    says which instance owns which partition. ``instance_id`` is optional and may stay the same
    across restarts. A guest (see ``traits``) owns only what no other instance offers to own, so a
    short-lived process moves no partitions. ``limits`` applies while this instance is the leader.
    ``close`` leaves the group at once.

    >>> with Cluster(connection, "shop") as cluster:                          # doctest: +SKIP
    ...     cluster.offer("carts", 8, on_plan=print, lags=dict)
    ...     cluster.owner("carts", 3)
    """

    def __init__(
        self,
        connection: Connection,
        application_id: str,
        *,
        instance_id: str | None = None,
        peer: PeerSettings | None = None,
        traits: Traits = PLAIN,
        limits: PlanLimits = DEFAULT_LIMITS,
        clock: Clock = SYSTEM_CLOCK,
        metrics: Metrics | None = None,
    ) -> None:
        self.application_id = application_id
        self.instance_id = checked_instance_id(instance_id)
        self._connection, self._clock = connection, clock
        self._restarts = instance_id is not None
        self._admin = Admin(connection, clock=clock)
        self._offers = Offers(self.instance_id, traits)
        self._limits = limits
        # The broker that the leader writes plans to: without it nobody can drain anybody.
        self._hearing = Hearing(
            lambda: self._admin.end_offsets(control_topic(application_id), [PARTITION]), clock
        )
        self._lookout = Lookout(self.instance_id, self._hearing, alarm=self._wake, clock=clock)
        settings = peer or PeerSettings()
        self.host = settings.name
        """The host name under which other instances reach this one."""
        me, look = self.instance_id, self._lookout
        self._peers = Peers(settings, application_id, me, watch=look.judge, deaf=look.is_deaf)
        self._reports = MemberReports(self.instance_id, self._peers, self._offers, self._lookout)
        self._control = ControlTopic(self._admin, control_topic(application_id), self._take_plan)
        self._membership: Membership | None = None
        self._steward: Steward | None = None
        self.metrics = metrics or Metrics()
        self._evictions = self.metrics.counter("cluster_evictions_total")
        # All of them from the start: Prometheus sees no increase in a counter that was not there.
        self._moves = {
            cause: self.metrics.counter("cluster_moved_partitions_total", cause=cause)
            for cause in CAUSES
        }
        self.metrics.gauge("cluster_members", lambda: len(self.members))
        self.metrics.gauge("cluster_plan_number", lambda: self.plan.number if self.plan else 0)
        self.metrics.gauge("cluster_leads", lambda: float(self.leads))
        track(self)

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Open the peer endpoint and join the group; returns before the first plan arrives.

        Raises ConnectionFailedError when the cluster does not answer, TopicUnfitError when the
        control topic cannot hold plans, and ConfigError when the endpoint cannot listen.
        """
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        ensure_control_topic(self._admin, control_topic(self.application_id))
        self._offers.address = self._peers.start()
        self._reports.open()
        self._peers.handle(DRAIN, self._drain)
        self._membership = Membership(
            self._connection,
            self.application_id,
            self.instance_id,
            self.address,
            restarts=self._restarts,
            on_change=self._on_rebalance,
        )
        self._steward = Steward(
            self._membership,
            Leadership(self.instance_id, self._control, self._open_log, self._limits),
            ask_reports=self._reports.ask,
            evict_suspects=self._evict_suspects,
            on_view=self._take_view,
            on_written=self._count_moves,
            clock=self._clock,
        )
        self._control.start()
        self._hearing.start()
        self._membership.join()
        self._steward.start()

    def close(self) -> None:
        """Leave the group and stop; idempotent. ``on_plan`` is not called afterwards."""
        if self._steward is not None:
            self._steward.close()
        if self._membership is not None:
            self._membership.leave()
        self._hearing.close()
        self._control.close()
        self._peers.close()
        self._admin.close()

    def after_fork(self) -> None:
        """Drop membership in a forked child; closing the child must not evict its parent."""
        self._offers.abandon()
        self._membership = self._steward = None

    # -- state --------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """The address of this instance's peer endpoint."""
        return self._offers.address

    @property
    def plan(self) -> Plan | None:
        """The last plan that this instance read at a captured end of the control topic."""
        return self._control.plan

    @property
    def movements(self) -> list[Movement]:
        """The last partitions that changed their owner, the newest first."""
        return self._control.movements.last

    @property
    def members(self) -> dict[str, str]:
        """The address of each member, this one included, by instance id."""
        return self._lookout.addresses

    @property
    def leads(self) -> bool:
        """Whether this instance is the leader, as far as it knows."""
        return self._steward is not None and self._steward.leads

    def owner(self, topic: str, partition: int) -> Owner | None:
        """The owner of a partition in the last plan; None if the plan names none."""
        assignment = self.assignment(topic, partition)
        return None if assignment is None else assignment.owner

    def assignment(self, topic: str, partition: int) -> Assignment | None:
        """What the last plan says about a partition; None if it names no owner."""
        plan = self.plan
        return None if plan is None else self._offers.assignment(plan, topic, partition)

    def is_planned(self, topic: str) -> bool:
        """Whether the last plan knows this process, and that it offers the topic."""
        me = None if self.plan is None else self.plan.members.get(self.instance_id)
        return me is not None and me.address == self.address and topic in me.offers

    # -- offers and requests ------------------------------------------------------------------

    def offer(
        self,
        topic: str,
        partitions: int,
        on_plan: OnPlan,
        lags: LagsNow,
        *,
        standbys: int | None = None,
    ) -> None:
        """Offer to own partitions of the topic.

        ``on_plan`` is called with each new plan, on a thread of the cluster. It gets the assignment
        of each partition that has an owner, and must return soon. ``lags`` returns the number of
        records by which each partition that is served here is behind. ``standbys`` makes the topic
        partitioned: each partition is kept by its owner and by this many standbys, no others.
        """
        self._offers.add(topic, partitions, on_plan, lags, standbys)
        self._wake()

    def announce_service(self, url: str) -> None:
        """Tell the others where this instance serves its tables over HTTP; "" ends that."""
        self._offers.service = url
        self._wake()

    def announce_restart(self, within_ms: int) -> bool:
        """Say that this instance leaves and comes back within that time; whether the plan says so.

        Until then its partitions wait for it, or are lent to their standbys (see Traits). Nothing
        that is withdrawn from now on changes the plan. Waits for the plan that says so, a few
        seconds at most.
        """
        if not self.plan or self.instance_id not in self.plan.members:
            return False
        self._offers.announce_restart(within_ms)
        deadline = self._clock.monotonic() + ANNOUNCE_S
        while not self._is_away():
            if self._clock.monotonic() >= deadline:
                log.warning("no plan says that %s restarts", self.instance_id)
                return False
            self._wake()
            self._clock.sleep(_POLL_S)
        return True

    def _is_away(self) -> bool:
        me = None if self.plan is None else self.plan.members.get(self.instance_id)
        return me is not None and me.away_until_ms > 0

    def drain(self, instance_id: str, *, on: bool = True) -> None:
        """Have a member give its partitions to others, or take some again; raises as ``ask``.

        It lasts until the member ends.
        """
        if instance_id == self.instance_id:
            self._drain(b"1" if on else b"")
        else:
            self.ask(instance_id, DRAIN, b"1" if on else b"", DRAIN_S)

    def _drain(self, payload: bytes) -> bytes:
        self._offers.draining = payload == b"1"
        self._wake()
        return b""

    def withdraw(self, topic: str) -> None:
        """Withdraw the offer: the next plan gives the topic's partitions to other members."""
        self._offers.withdraw(topic)
        self._wake()

    def handle(self, name: str, handler: Handler) -> None:
        """Register a handler for requests of peers: bytes in, bytes out, on a small thread pool.

        A LastwordError that the handler raises is raised at the caller; other errors are logged
        here. A handler must not ask another peer.
        """
        self._peers.handle(name, handler)

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        """Ask another member and return its answer; an error raised by its handler is raised here.

        The wait ends early once ``still`` returns False.

        PeerUnreachableError  it is not a member, or there is no connection: nothing was done
        PeerRefusedError      it refused the request: nothing was done
        IndeterminateError    it did not answer in time: the request may have been carried out
        """
        return self._peers.ask(instance_id, name, payload, timeout_s, still)

    def reports(self) -> dict[str, Report]:
        """What each member says of itself now; those that do not answer at once are missing."""
        return self._reports.ask(self.members)

    # -- callbacks between the parts -----------------------------------------------------------

    def _wake(self) -> None:
        if self._steward is not None:
            self._steward.wake()

    def _on_rebalance(self) -> None:
        if self._membership is not None and self._membership.failure is not None:
            self._offers.end()
        self._wake()

    def _take_plan(self, plan: Plan) -> None:
        self._lookout.take_plan(plan)
        self._watch_members()
        self._offers.take(plan)

    def _take_view(self, addresses: Mapping[str, str] | None) -> None:
        self._lookout.take_view(addresses)
        self._watch_members()

    def _watch_members(self) -> None:
        self._peers.set_members(self._lookout.addresses, self._lookout.watched)

    def _evict_suspects(self) -> None:
        if self._membership is not None:
            self._evictions.add(self._lookout.evict_due(self._membership.evict))

    def _count_moves(self, plan: Plan, before: Plan | None) -> None:
        if before is None:
            return
        for move in moves_between(before, plan):
            self._moves[cause_of(move, before, plan)].add()

    def _open_log(self) -> FencedLog:
        topic = control_topic(self.application_id)
        return open_fenced_log(
            self._connection,
            topic,
            PARTITION,
            owner_transactional_id(self.application_id, topic, PARTITION),
            batch_bytes=PLAN_BYTES_MAX,
            timeout_s=PLAN_WRITE_S,
            clock=self._clock,
        )
