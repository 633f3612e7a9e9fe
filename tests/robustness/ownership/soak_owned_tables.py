"""The campaign for LASTWORD_TEST_OWNERSHIP_OPERATIONS operations, each way, and both checkers.

Run by `make soak`: it needs Go, and time.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tests.support.linearizability.campaign import OPERATIONS, Campaign
from tests.support.linearizability.log_check import check_log, fold
from tests.support.linearizability.porcupine import build_porcupine, check_porcupine
from tests.support.linearizability.worker import Way
from tests.support.network.proxied_cluster import ProxiedCluster


@pytest.mark.parametrize("way", get_args(Way))
def test_many_operations_on_owned_tables_are_linearizable(
    proxied_cluster: ProxiedCluster, topic_name: str, tmp_path: Path, way: Way
) -> None:
    program = build_porcupine(tmp_path)
    campaign = Campaign(proxied_cluster, topic_name, tmp_path, way)
    campaign.run()
    history, log = campaign.history(), campaign.log()
    assert len(history) >= OPERATIONS
    assert not check_log(history, log)
    assert not check_porcupine(program, history)
    assert campaign.compacted_and_rebuilt() == fold(log)
