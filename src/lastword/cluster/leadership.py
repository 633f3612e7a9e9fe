"""What the leader does: list the members of the group and write the plan for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from lastword.cluster.control_topic import PARTITION, PLAN_KEY, ControlTopic
from lastword.cluster.copies import PlanLimits
from lastword.cluster.plan import Lags, Plan, PlanMember, encode_plan
from lastword.cluster.planning import DEFAULT_LIMITS, make_plan
from lastword.errors import ConnectionFailedError, FencedError, LastwordError
from lastword.kafka.write.fenced import FencedLog, FenceNote
from lastword.records import Write

log = logging.getLogger(__name__)

REACH_S = 10.0


class Leadership:
    """Writes plans for as long as this instance holds the control partition.

    Used by one thread. ``gain`` fences every earlier leader, once each time the group makes this
    instance the leader. After a FencedError it writes nothing until the next ``gain``.
    """

    def __init__(
        self,
        instance_id: str,
        control: ControlTopic,
        open_log: Callable[[], FencedLog],
        limits: PlanLimits = DEFAULT_LIMITS,
    ) -> None:
        self._me = instance_id
        self._limits = limits
        self._control = control
        self._open_log = open_log
        self._log: FencedLog | None = None
        self._fenced = False
        self.written: Plan | None = None

    @property
    def active(self) -> bool:
        """Whether plans can be written now."""
        return self._log is not None and self._log.fence is not None and not self._fenced

    def gain(self) -> bool:
        """Take over from the previous leader and read its last plan; False if already done.

        Raises ConnectionFailedError if the cluster does not answer; then try again.
        """
        if self.active or self._fenced:
            return False
        if self._log is None:
            self._log = self._open_log()
        known = 0 if self._control.plan is None else self._control.plan.number
        try:
            fence = self._log.take_over(FenceNote(self._me, known))
        except FencedError:
            self._fenced = True
            raise
        # No record of an earlier leader follows the fence record: the plan before it is the last.
        if not self._control.wait_for(fence.offset, REACH_S):
            self.give_up()
            raise ConnectionFailedError(
                f"did not read the control topic up to offset {fence.offset} within {REACH_S:g} s",
                hint="check that the broker that leads the control topic is running",
            )
        self.written = self._control.plan
        log.info("%s is the leader since offset %d of the control topic", self._me, fence.offset)
        return True

    def lose(self) -> None:
        """The group assigned the control partition to another instance, or may do so."""
        self.give_up()
        self._fenced = False

    def give_up(self) -> None:
        """Stop writing plans; idempotent."""
        if self._log is not None:
            with suppress(LastwordError):
                self._log.close()
            self._log = None

    def write(self, members: Mapping[str, PlanMember], lags: Lags) -> Plan | None:
        """Write the plan for these members; None if it equals the last one.

        Raises FencedError when another instance leads, and what ``FencedLog.append`` raises.
        """
        if self._log is None or self._fenced:
            return None
        plan = make_plan(members, self.written, leader=self._me, lags=lags, limits=self._limits)
        if plan.says_the_same_as(self.written):
            return None
        number = plan.number
        try:
            self._log.renew()
            self._log.append([Write(PLAN_KEY, encode_plan(plan), partition=PARTITION)])
        except FencedError:
            self._fenced = True
            raise
        except LastwordError:
            # It may be in the log, so the next plan needs another number in any case.
            if self.written is not None:
                self.written = msgspec.structs.replace(self.written, number=number)
            raise
        self.written = plan
        return plan


class Report(msgspec.Struct, frozen=True):
    """A member's answer to the leader: its offers and traits (see PlanMember), and its lags.

    ``unheard`` names the members that it cannot hear. ``deaf`` says that no broker answers it.
    """

    offers: dict[str, int] = {}
    lags: dict[str, dict[int, int]] = {}
    guest: bool = False
    standbys: dict[str, int] = {}
    rack: str = ""
    weight: int = 1
    lends: bool = False
    draining: bool = False
    away_for_ms: int = 0
    unheard: frozenset[str] = frozenset()
    deaf: bool = False
    service: str = ""

    def member(self, address: str) -> PlanMember:
        """The member as a plan has it."""
        return PlanMember(
            address,
            self.offers,
            self.guest,
            standbys=self.standbys,
            rack=self.rack,
            weight=self.weight,
            lends=self.lends,
            draining=self.draining,
            service=self.service,
        )


def describe_members(
    addresses: Mapping[str, str],
    reports: Mapping[str, Report],
    previous: Plan | None,
    now_ms: int,
) -> dict[str, PlanMember]:
    """The members for the next plan.

    A member that did not answer keeps the offers it has in the previous plan, if its address is
    the same. If it is dead it is evicted soon; until then none of its partitions move. A member
    that announced a restart stays in the plan until its time is over. A member that the others
    cannot hear, or that the brokers do not answer, gives its partitions away, as if drained.
    """
    known = {} if previous is None else previous.members
    members = {name: each for name, each in known.items() if each.away_until_ms > now_ms}
    for name, address in addresses.items():
        before = known.get(name)
        same = before is not None and before.address == address
        if name in reports:
            members[name] = reports[name].member(address)
            if (within_ms := reports[name].away_for_ms) > 0:
                until_ms = now_ms + within_ms
                if before is not None and same and before.away_until_ms:
                    until_ms = before.away_until_ms  # its time runs since it was announced
                members[name] = msgspec.structs.replace(members[name], away_until_ms=until_ms)
        elif before is not None and same:
            members[name] = before
        else:
            members[name] = PlanMember(address)
        if is_cut_off(name, reports) or (name in reports and reports[name].deaf):
            members[name] = msgspec.structs.replace(members[name], draining=True)
    return members


def is_cut_off(name: str, reports: Mapping[str, Report]) -> bool:
    """Whether the members cannot ask this one, although the group keeps it.

    It reaches the brokers, so it stays in the group. Either it did not answer the leader, and some
    member has not heard it for long, or most of the others have not.
    """
    others = [report for other, report in reports.items() if other != name]
    unheard = sum(name in report.unheard for report in others)
    return unheard > 0 and (name not in reports or 2 * unheard > len(others))
