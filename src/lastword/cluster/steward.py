"""The thread that evicts suspects, and writes plans when the group makes this instance leader."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from lastword.clock import Clock
from lastword.cluster.leadership import Leadership, Report, describe_members
from lastword.cluster.membership import GroupView, Membership
from lastword.cluster.plan import Plan
from lastword.errors import FencedError, LastwordError

log = logging.getLogger(__name__)

ROUND_S = 0.3
"""How often the leader asks who is in the group, when nothing wakes it earlier."""
SETTLE_S = 0.3
"""How long the first leader of an application waits for others that start at the same time."""
REGAIN_S = 2.0
"""How long a leader that was fenced waits before it asks the group whether it leads after all."""

AskReports = Callable[[Mapping[str, str]], Mapping[str, Report]]
"""(addresses of the members) -> the reports of those that answer at once."""


class Steward:
    """Rounds of eviction and planning; ``wake`` has the next one begin now."""

    def __init__(
        self,
        membership: Membership,
        leadership: Leadership,
        *,
        ask_reports: AskReports,
        evict_suspects: Callable[[], None],
        on_view: Callable[[Mapping[str, str] | None], None],
        on_written: Callable[[Plan, Plan | None], None],
        clock: Clock,
    ) -> None:
        self._membership, self._leadership = membership, leadership
        self._ask_reports, self._evict_suspects = ask_reports, evict_suspects
        self._on_view, self._on_written = on_view, on_written
        self._clock = clock
        self._term = 0
        self._not_before = 0.0
        self._news = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="steward", daemon=True)

    @property
    def leads(self) -> bool:
        """Whether this instance may write plans, as far as it knows."""
        return self._term > 0 and self._leadership.active

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def wake(self) -> None:
        """Something has changed: begin the next round now."""
        self._news.set()

    def close(self) -> None:
        """Stop after the round that is under way; idempotent."""
        self._closing = True
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._leadership.give_up()

    def _run(self) -> None:
        while not self._closing:
            try:
                wait_s = self._round()
            except FencedError as error:
                log.warning("another instance leads now: %s", error)
                self._on_view(None)
                self._not_before, wait_s = self._clock.monotonic() + REGAIN_S, ROUND_S
            except LastwordError as error:
                log.warning("this round of the cluster failed: %s", error)
                wait_s = ROUND_S
            self._news.wait(wait_s)
            self._news.clear()

    def _round(self) -> float:
        """Do what is due; how long to wait for the next round."""
        self._evict_suspects()
        term = self._membership.term
        if term == 0:
            if self._term:
                self._leadership.lose()
                self._on_view(None)
            self._term = 0
            return ROUND_S
        view = self._membership.look()
        if not self._may_lead(term, view):
            return ROUND_S
        if self._leadership.gain() and not self._is_known(view):
            self._not_before = self._clock.monotonic() + SETTLE_S
        wait_s = self._not_before - self._clock.monotonic()
        if wait_s > 0:
            return wait_s
        self._plan(view)
        return ROUND_S

    def _may_lead(self, term: int, view: GroupView) -> bool:
        if term != self._term:
            # Made leader just now: this is the one time to fence the others without asking.
            self._leadership.lose()
            self._term, self._not_before = term, 0.0
            return True
        if self._leadership.active:
            return True
        if self._clock.monotonic() < self._not_before or not view.i_lead:
            return False
        self._leadership.lose()
        return True

    def _is_known(self, view: GroupView) -> bool:
        """Whether the last plan names any member that is there; else all are just starting."""
        last = self._leadership.written
        return last is not None and not last.members.keys().isdisjoint(view.addresses)

    def _plan(self, view: GroupView) -> None:
        self._on_view(view.addresses)
        reports = self._ask_reports(view.addresses)
        before = self._leadership.written
        members = describe_members(view.addresses, reports, before)
        lags = {name: report.lags for name, report in reports.items()}
        plan = self._leadership.write(members, lags)
        if plan is not None:
            self._on_written(plan, before)
