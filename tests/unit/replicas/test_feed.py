"""The feed never blocks the tailing thread and never skips a change without saying so."""

from __future__ import annotations

import pytest

from lastword.errors import WatchLostError
from lastword.records import Batch, Position
from lastword.replicas.watch import feed as feed_module
from lastword.replicas.watch.feed import Dropped, Feed, Subscription
from tests.support.local_tables.offline_topic import batch_of


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def subscription(feed: Feed) -> Subscription:
    subscription = Subscription(feed, Position({0: 0}))
    feed.join(subscription)
    return subscription


def puts(count: int, first: int = 0) -> Batch:
    return batch_of([(b"k", b"v")] * count, first)


def test_published_items_are_taken_in_order(feed: Feed, subscription: Subscription) -> None:
    first, second = puts(2), Dropped(0, [b"gone"])
    feed.publish(first)
    feed.publish(second)
    assert subscription.take(0) is first
    assert subscription.take(0) is second


def test_taking_from_an_empty_feed_answers_none_after_the_timeout(
    subscription: Subscription,
) -> None:
    assert subscription.take(0.01) is None


def test_a_watcher_that_is_too_far_behind_gets_its_queue_and_then_an_error(
    feed: Feed, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RECORDS_MAX", 10)
    feed.publish(puts(6))
    feed.publish(puts(6, first=6))
    taken = subscription.take(0)
    assert isinstance(taken, Batch)
    assert taken.next_offset == 6
    with pytest.raises(WatchLostError, match="more than 10 changes behind"):
        subscription.take(0)


def test_nothing_follows_once_a_watcher_was_cut_off(
    feed: Feed, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RECORDS_MAX", 10)
    feed.publish(puts(11))
    feed.publish(puts(1, first=11))
    for _ in range(2):
        with pytest.raises(WatchLostError):
            subscription.take(0)
    assert len(feed) == 0


def test_dropped_keys_count_as_changes_that_wait(
    feed: Feed, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RECORDS_MAX", 2)
    feed.publish(Dropped(0, [b"a", b"b", b"c"]))
    with pytest.raises(WatchLostError):
        subscription.take(0)


def test_taken_items_make_room_again(
    feed: Feed, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RECORDS_MAX", 10)
    for first in range(0, 60, 6):
        feed.publish(puts(6, first))
        taken = subscription.take(0)
        assert isinstance(taken, Batch)
        assert taken.offsets[0] == first


def test_one_slow_watcher_costs_the_others_nothing(
    feed: Feed, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RECORDS_MAX", 3)
    fast = Subscription(feed, Position({0: 0}))
    feed.join(fast)
    for first in range(0, 10, 2):
        feed.publish(puts(2, first))
        assert fast.take(0) is not None
    feed.publish(puts(1, 10))
    assert fast.take(0) is not None
    assert len(feed) == 1


def test_cutting_off_gives_every_watcher_the_reason(feed: Feed, subscription: Subscription) -> None:
    feed.publish(puts(1))
    feed.break_off("the topic was replaced", "watch again")
    assert subscription.take(0) is not None
    with pytest.raises(WatchLostError, match="the topic was replaced") as lost:
        subscription.take(0)
    assert lost.value.hint == "watch again"


def test_a_watcher_that_left_gets_nothing_more(feed: Feed, subscription: Subscription) -> None:
    subscription.close()
    subscription.close()
    feed.publish(puts(1))
    assert subscription.take(0) is None
