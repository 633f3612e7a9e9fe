"""Tombstones count into what a restore may gather before it writes.

Only puts did: a log of deletes was gathered to its end, 1.5 million keys at once.
"""

from __future__ import annotations

from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic, batch_of

COUNT = 1_000


def test_gathered_tombstones_have_a_size() -> None:
    topic = OfflineTopic(FakeClock())
    follower = topic.follower()
    follower.begin(topic.state(COUNT))
    follower.accept(batch_of([(b"key-%d" % n, None) for n in range(COUNT)]), gather=True)
    # As an object and a place in a set, a key takes far more than its bytes.
    assert follower.gathered.size_bytes > 100 * COUNT
    follower.commit()
    assert follower.gathered.size_bytes == 0
