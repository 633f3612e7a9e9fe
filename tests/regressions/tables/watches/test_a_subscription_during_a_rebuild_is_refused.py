"""A raw subscription that began while a table lost its place missed what the rebuild brought.

``Table.watch`` looked twice whether the table is ready, the watch in bytes only before joining. A
rebuild cuts everybody off when it begins, and would not have known of this one.
"""

from __future__ import annotations

import pytest

from lastword.errors import NotReadyError
from lastword.kafka.log.source import PositionLost
from lastword.replicas.watch.feed import Subscription
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables


def test_a_watcher_that_joins_just_after_all_were_cut_off_gets_an_error(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables.open(topic.name, **RAW)
    replicas = table._lifecycle.parts.replicas
    subscribe = replicas.subscribe

    def lose_place_and_subscribe() -> Subscription:
        replicas._following.reaction.position_lost(PositionLost(0, "overtaken"))
        return subscribe()

    monkeypatch.setattr(replicas, "subscribe", lose_place_and_subscribe)
    with pytest.raises(NotReadyError):
        table.raw.watch()
    assert len(replicas.feed) == 0
