"""Whatever kills the process that owns a broker, no broker is left and no data is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.info import find_running
from lastword.broker.runtime import KafkaRuntime
from lastword.testing import wait_until

OWNER = """
import os, signal, sys
from pathlib import Path
from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
runtime = KafkaRuntime.prepare(Path(sys.argv[1]), os.environ)
EmbeddedBroker(Path(sys.argv[2]), runtime).start()
print("started", flush=True)
signal.pause()
"""


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second if it ends while it is read
        return False
    # A dead process whose parent has not looked yet is still listed, but has no memory.
    return "VmSize" in status


def test_when_the_owner_is_killed_the_broker_ends_and_its_data_can_be_continued(
    kafka_runtime: KafkaRuntime, tmp_path: Path, topic_name: str
) -> None:
    home = str(kafka_runtime.metrics_agent.parents[2])
    directory = tmp_path / "broker"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, home, str(directory)], stdout=subprocess.PIPE
    ) as owner:
        try:
            assert owner.stdout is not None
            assert owner.stdout.readline() == b"started\n"
            orphan = find_running(tmp_path)
            assert orphan is not None
            pid = orphan.nodes[0].process.pid
            assert pid is not None
            admin = AdminClient({"bootstrap.servers": orphan.bootstrap_servers})
            admin.create_topics([NewTopic(topic_name, 1, 1)])[topic_name].result(timeout=180)
        finally:
            owner.kill()
    wait_until(lambda: find_running(tmp_path) is None, "the broker to end with its owner")
    assert not alive(pid)
    assert (directory / "node-1" / "pid").exists(), "nobody was left to tidy up"

    with EmbeddedBroker(directory, kafka_runtime) as continued:
        assert continued.info.cluster_id == orphan.cluster_id
        admin = AdminClient({"bootstrap.servers": continued.bootstrap_servers})
        assert topic_name in admin.list_topics(timeout=180).topics
    assert find_running(tmp_path) is None
