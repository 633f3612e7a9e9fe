"""A sweep that fails for any reason is tried again.

Only errors of Lastword were caught. Any other one, of a store or of a client, ended the sweeper's
thread: the partition stayed stale, and no partition was ever swept again.
"""

from __future__ import annotations

from lastword.replicas.sweep.schedule import RETRY_MS
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import batch_of
from tests.support.local_tables.sweep_lab import lagging, running_lab


def test_a_pass_that_failed_of_a_foreign_error_is_tried_again() -> None:
    with running_lab(FakeClock()) as lab:
        follower = lagging(lab)
        lab.failure = OSError("the disk is away")
        lab.consider(follower)
        lab.carry_out(posts=1)
        assert follower.unsound
        lab.failure = None
        lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
        lab.clock.advance(seconds=RETRY_MS / 1000)
        follower.on_topic_state(lab.topic.state(2))
        lab.consider(follower)
        lab.carry_out(posts=1)
        assert not follower.unsound
