"""A broker is found by the word its starter left, and only while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.broker.info import BrokerInfo, NodeInfo, find_running, read_info, write_info
from lastword.errors import BrokerError


def info_of(directory: Path) -> BrokerInfo:
    node = NodeInfo(
        id=1,
        directory=str(directory / "node-1"),
        listeners={"PLAINTEXT": 9092, "SASL_SSL": 20001},
        controller_port=20002,
        metrics_port=20003,
    )
    return BrokerInfo("4L6g3nShT-eMCtK--X86sw", (node,), detached=True)


def test_written_records_are_read(tmp_path: Path) -> None:
    info = info_of(tmp_path)
    write_info(tmp_path, info)
    assert read_info(tmp_path) == info
    assert info.bootstrap_servers == "127.0.0.1:9092"
    assert info.addresses("SASL_SSL") == "127.0.0.1:20001"


def test_the_process_of_a_found_node_is_the_one_that_was_launched(tmp_path: Path) -> None:
    info = info_of(tmp_path / "broker")
    write_info(tmp_path / "broker", info)
    process = info.nodes[0].process
    process.launch(["sleep", "600"], tmp_path / "console", detached=False)
    found = find_running(tmp_path)
    assert found == info
    found.stop()
    assert find_running(tmp_path) is None
    process.kill()


def test_a_broker_that_does_not_run_is_not_found(tmp_path: Path) -> None:
    assert find_running(tmp_path) is None
    write_info(tmp_path / "broker", info_of(tmp_path / "broker"))
    assert find_running(tmp_path) is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broker.json").write_text("{")
    with pytest.raises(BrokerError, match=r"broker\.json"):
        read_info(tmp_path)
