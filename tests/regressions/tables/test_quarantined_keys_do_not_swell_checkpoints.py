"""A long list of quarantined keys adds little to a checkpoint.

Every apply wrote the whole list again: 1,000 keys added 80 KB to each checkpoint.
"""

from __future__ import annotations

from lastword.replicas.apply.checkpoint import Quarantined, decode_checkpoint
from lastword.replicas.apply.quarantine import QUARANTINE_MAX, Quarantine
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic


def test_a_checkpoint_with_the_longest_list_stays_small_and_complete() -> None:
    topic = OfflineTopic(
        FakeClock(), lambda key, *_: f"{key!r} is not JSON: unexpected end of data"
    )
    pairs = [(b"user-%08d" % n, b"{") for n in range(QUARANTINE_MAX)]
    follower = topic.live_follower(pairs)
    stored = topic.store.checkpoint()
    assert stored is not None
    assert len(stored) < 16_000
    again = topic.follower()
    again.begin(topic.state(len(pairs)))
    assert list(again.quarantine) == list(follower.quarantine)


def test_the_list_is_packed_again_only_when_it_changed() -> None:
    bad = [Quarantined(0, n, b"key-%d" % n, "not JSON") for n in range(10)]
    quarantine = Quarantine(bad)
    packed = quarantine.packed()
    quarantine.release([b"another"])
    assert quarantine.packed() is packed
    quarantine.release([b"key-3"])
    assert list(Quarantine.unpack(quarantine.packed())) == [*bad[:3], *bad[4:]]


def test_the_list_of_an_older_version_is_read() -> None:
    topic = OfflineTopic(FakeClock(), lambda _key, _value, _headers: "bad")
    topic.live_follower([(b"a", b"{")])
    checkpoint = decode_checkpoint(topic.store.checkpoint())
    assert checkpoint is not None
    plain = (Quarantined(0, 0, b"a", "bad"),)
    assert list(Quarantine.unpack(plain)) == list(Quarantine.unpack(checkpoint.quarantined))
