"""The backlog of a slow watcher was limited in records only: 100,000 of any size."""

from __future__ import annotations

import pytest

from lastword.errors import WatchLostError
from lastword.replicas.watch import feed
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables

VALUE = bytes(1_000)


def test_a_watcher_is_cut_off_when_too_many_bytes_wait(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BYTES_MAX", 10_000)
    table = tables.open(topic.name, **RAW)
    slow = table.watch()
    for n in range(20):
        table.put(b"key-%d" % n, VALUE)

    taken = 0
    with pytest.raises(WatchLostError, match="more than 10000 bytes behind"):
        while slow.take(10):
            taken += 1

    assert 0 < taken < 10
    with table.watch(slow.position) as again:
        rest = [again.take(10) for _ in range(20 - taken)]
    assert rest[-1] is not None and rest[-1].key == b"key-19"


def test_one_change_is_never_too_large(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BYTES_MAX", 100)
    table = tables.open(topic.name, **RAW)
    with table.watch() as watch:
        for n in range(3):
            table.put(b"key-%d" % n, VALUE)
            change = watch.take(10)
            assert change is not None and change.value == VALUE
