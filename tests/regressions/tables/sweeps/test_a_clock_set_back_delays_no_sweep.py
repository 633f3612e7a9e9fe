"""The time between two sweeps is monotonic.

It was wall time: after a clock was set back by an hour, the next sweep was an hour away, and reads
were stale until then.
"""

from __future__ import annotations

from lastword.replicas.sweep.retention import SWEEP_INTERVAL_MS
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import batch_of
from tests.support.local_tables.sweep_lab import lagging, running_lab


def test_the_next_sweep_is_a_minute_later_even_if_the_wall_clock_jumps() -> None:
    with running_lab(FakeClock()) as lab:
        follower = lagging(lab)
        lab.log = [batch_of([(b"a", b"1"), (b"b", b"2")])]
        lab.consider(follower)
        lab.carry_out(posts=1)
        assert not follower.unsound
        lab.clock.set_back(seconds=3600)
        follower.check_lag()
        assert follower.sweep_due
        lab.clock.advance(seconds=SWEEP_INTERVAL_MS / 1000)
        follower.on_topic_state(lab.topic.state(2))
        lab.consider(follower)
        lab.carry_out(posts=1)
        assert (lab.passes, follower.unsound) == (2, False)
