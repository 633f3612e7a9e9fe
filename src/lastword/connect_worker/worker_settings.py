"""The settings of a worker of this machine."""

from __future__ import annotations

from pathlib import Path

from lastword.connect_worker.worker_info import WorkerInfo
from lastword.jvm.ports import LOOPBACK
from lastword.kafka.connection import Connection

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_FILES = "org.apache.kafka.common.config.provider.FileConfigProvider"
_BROKERS_DEFAULT = "-1"


def worker_settings(info: WorkerInfo, connection: Connection, plugins: Path) -> dict[str, str]:
    """Distributed mode with exactly-once sources, on the loopback address.

    The worker's own clients and those of its connectors log in to the cluster alike.
    """
    cluster = connection.java()
    login = {name: value for name, value in cluster.items() if name != "bootstrap.servers"}
    return {
        **cluster,
        **{f"producer.{name}": value for name, value in login.items()},
        **{f"consumer.{name}": value for name, value in login.items()},
        **{f"admin.{name}": value for name, value in login.items()},
        "group.id": info.group,
        "listeners": info.url,
        "rest.advertised.host.name": LOOPBACK,
        "plugin.path": str(plugins),
        "plugin.discovery": "service_load",
        "key.converter": _JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": _JSON,
        # A null is a null, not the column's default.
        "value.converter.replace.null.with.default": "false",
        **_storage(info.group),
        "exactly.once.source.support": "enabled",
        "offset.flush.interval.ms": "1000",
        # A worker that comes back takes its connectors at once instead of in five minutes.
        "scheduled.rebalance.max.delay.ms": "0",
        # The schema in each value is most of it and always the same.
        "producer.compression.type": "lz4",
        # Connectors name a file of secrets; anywhere else they may not look.
        "config.providers": "file",
        "config.providers.file.class": _FILES,
        "config.providers.file.param.allowed.paths": str(info.secrets),
    }


def _storage(group: str) -> dict[str, str]:
    settings = {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    for name, topic in (("config", "configs"), ("offset", "offsets"), ("status", "status")):
        settings[f"{name}.storage.topic"] = f"_{group}-{topic}"
        settings[f"{name}.storage.replication.factor"] = _BROKERS_DEFAULT
    return settings
