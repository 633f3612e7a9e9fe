"""A table whose cluster does not answer marks its reads stale and says for how long.

It looked healthy: 131 s after the broker had been frozen it was RUNNING with a lag of 0, and no
read was stale.
"""

from __future__ import annotations

from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.connection import Connection
from lastword.replicas.sweep.soundness import CONTACT_MAX_S
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.shifted_clock import ShiftedClock


def test_reads_of_a_frozen_cluster_are_stale_until_it_answers_again(
    own_broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> None:
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    topic, clock = RealTopic(connection, topic_name).create(), ShiftedClock()
    with Tables(connection, tmp_path) as tables:
        table = tables.open(topic.name, clock=clock, **RAW)
        table.put(b"key", b"1")
        answers = (table.query.get, table.query.contains)
        wait_until(lambda: table.contact_age_s() < CONTACT_MAX_S, "an answer")
        assert not any(ask(b"key").stale for ask in answers)
        own_broker.pause()
        try:
            clock.shift_s = CONTACT_MAX_S + 1
            wait_until(lambda: table.query.count().stale, "stale")
            for ask in answers:
                assert ask(b"key").stale
                assert ask(b"key").contact_age_s > CONTACT_MAX_S
            with table.query.scan() as scan:
                assert (scan.stale, scan.contact_age_s > CONTACT_MAX_S) == (True, True)
            assert table.query.get_many([b"key"]).stale
            ages = [s.value for s in table.metrics.samples() if s.name == "contact_age_seconds"]
            assert min(ages) > CONTACT_MAX_S
            assert (table.state, table.lag()) == (TableState.RUNNING, {0: 0})
            assert table[b"key"] == b"1"
        finally:
            own_broker.resume()
        wait_until(lambda: not table.query.count().stale, "trusted again")
        assert table.contact_age_s() < CONTACT_MAX_S
