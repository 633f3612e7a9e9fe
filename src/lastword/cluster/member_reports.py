"""What each member says of itself, as the leader asks for it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from lastword.cluster.leadership import Report
from lastword.cluster.lookout import Lookout
from lastword.cluster.offers import Offers
from lastword.cluster.peers.peers import Peers

REPORT = "cluster.report"
REPORT_S = 0.25


class MemberReports:
    """Answers the leader, and as leader asks the others. Safe from any thread."""

    def __init__(self, instance_id: str, peers: Peers, offers: Offers, lookout: Lookout) -> None:
        self._me = instance_id
        self._peers, self._offers, self._lookout = peers, offers, lookout

    def open(self) -> None:
        """Answer the leader from now on."""
        self._peers.handle(REPORT, lambda _: msgspec.json.encode(self.own()))

    def ask(self, names: Mapping[str, str]) -> dict[str, Report]:
        """The reports of those that answer at once, and the own one."""
        others = [name for name in names if name != self._me]
        answers = self._peers.ask_all(others, REPORT, b"", REPORT_S)
        reports = {
            name: msgspec.json.decode(answer, type=Report) for name, answer in answers.items()
        }
        reports[self._me] = self.own()
        believes = self._lookout.hearing.believes
        return {
            name: replace(each, deaf=each.deaf and believes(name)) for name, each in reports.items()
        }

    def own(self) -> Report:
        """The report of this instance."""
        lookout = self._lookout
        return replace(self._offers.report(), unheard=lookout.unheard, deaf=lookout.hearing.deaf)
