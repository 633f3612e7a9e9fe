"""Owned tables under attack: what clients were told is compared with the log, then it is compacted.

In `make soak` it runs for LASTWORD_TEST_OWNERSHIP_OPERATIONS operations.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.linearizability.campaign import Campaign
from tests.support.linearizability.log_check import check_log, fold
from tests.support.linearizability.worker import TRANSACTIONS
from tests.support.network.proxied_cluster import ProxiedCluster


def test_owned_tables_are_linearizable_while_instances_and_brokers_fail(
    proxied_cluster: ProxiedCluster, topic_name: str, tmp_path: Path
) -> None:
    campaign = Campaign(proxied_cluster, topic_name, tmp_path)
    campaign.run()
    history, log = campaign.history(), campaign.log()
    assert not check_log(history, log)
    assert campaign.compacted_and_rebuilt() == fold(log)


def test_owned_tables_that_append_by_transactions_are_linearizable(
    proxied_cluster: ProxiedCluster, topic_name: str, tmp_path: Path
) -> None:
    campaign = Campaign(proxied_cluster, topic_name, tmp_path, TRANSACTIONS)
    campaign.run()
    assert not check_log(campaign.history(), campaign.log())
