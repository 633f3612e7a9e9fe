"""Every setting, once: its name, type, default and meaning.

This list drives ``lastword.toml``, the ``LASTWORD_*`` environment, the flags and
``docs/reference/settings.md``. Precedence: flag > environment > file > default.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from lastword.cluster.copies import PlanLimits
from lastword.cluster.lending import RestartWrites
from lastword.kafka.connection import SaslMechanism, SecurityProtocol
from lastword.table.partitioned.routing import Layout
from lastword.writer.write_mode import WriteMode

SettingValue = str | int | bool | Path | None


@dataclass(frozen=True)
class Setting:
    """One setting. ``name`` is its path in TOML; ``default`` of None means unset."""

    name: str
    type: type[str] | type[int] | type[bool] | type[Path]
    default: SettingValue
    help: str
    choices: tuple[str, ...] = ()
    secret: bool = False

    @property
    def environment_variable(self) -> str:
        """Connection settings go without their section: LASTWORD_BOOTSTRAP_SERVERS."""
        return "LASTWORD_" + self.name.removeprefix("connection.").replace(".", "_").upper()


SETTINGS: tuple[Setting, ...] = (
    Setting("home", Path, None, "where everything is kept; default: the platform's directory"),
    Setting("state_dir", Path, None, "where tables keep their stores; default: HOME/state"),
    Setting(
        "application_id", str, "lastword", "the name that the processes of one application share"
    ),
    Setting(
        "connection.bootstrap_servers",
        str,
        None,
        "HOST:PORT[,HOST:PORT...]; default: the local broker, if one is running",
    ),
    Setting(
        "connection.command_config",
        Path,
        None,
        "a Java client.properties, as Kafka's own tools take it; replaces the settings below",
    ),
    Setting(
        "connection.security_protocol",
        str,
        "PLAINTEXT",
        "how to talk to the brokers",
        choices=get_args(SecurityProtocol),
    ),
    Setting("connection.ssl_ca", Path, None, "PEM file of the authorities to trust"),
    Setting("connection.ssl_certificate", Path, None, "PEM file of the client certificate"),
    Setting("connection.ssl_key", Path, None, "PEM file of its key"),
    Setting("connection.ssl_key_password", str, None, "the password of ssl_key", secret=True),
    Setting("connection.ssl_verify_hostname", bool, True, "whether names must match certificates"),
    Setting(
        "connection.sasl_mechanism",
        str,
        None,
        "the SASL mechanism",
        choices=get_args(SaslMechanism),
    ),
    Setting("connection.sasl_username", str, None, "the user for PLAIN and SCRAM"),
    Setting("connection.sasl_password", str, None, "the password for PLAIN and SCRAM", secret=True),
    Setting("connection.oauth_token_url", str, None, "where OAUTHBEARER gets its token"),
    Setting("connection.oauth_client_id", str, None, "the client id for OAUTHBEARER"),
    Setting(
        "connection.oauth_client_secret",
        str,
        None,
        "the client secret for OAUTHBEARER",
        secret=True,
    ),
    Setting("connection.oauth_scope", str, None, "the scope to ask for, if any"),
    Setting("broker.port", int, 9092, "the port of the local broker"),
    Setting("broker.brokers", int, 1, "how many local brokers form the cluster"),
    Setting(
        "broker.secure",
        bool,
        False,
        "whether the local broker lets in only you, not every user of this machine",
    ),
    Setting(
        "broker.ivy_settings", Path, None, "an ivysettings.xml that names the repositories of jars"
    ),
    Setting(
        "pipeline.mode",
        str,
        "micro-batch",
        "how pipelines run: batches that Spark plans, or long tasks that commit every 100 ms",
        choices=("micro-batch", "real-time"),
    ),
    Setting(
        "snapshots.location",
        str,
        None,
        "where snapshots are: a directory, or an address as in s3a://bucket/path; "
        "default: HOME/snapshots",
    ),
    Setting("snapshots.keep", str, "7d", "how long old snapshots are kept: 12h, 7d, ..."),
    Setting(
        "snapshots.history",
        bool,
        False,
        "whether to keep every change, too, in a Delta table beside the snapshots",
    ),
    Setting(
        "registry.url",
        str,
        None,
        "the schema registry, as in http://localhost:8081; default: none",
    ),
    Setting("registry.username", str, None, "the user of the registry"),
    Setting("registry.password", str, None, "the password of that user", secret=True),
    Setting(
        "registry.token", str, None, "a bearer token instead of user and password", secret=True
    ),
    Setting("registry.ca", Path, None, "PEM file of the authorities to trust"),
    Setting("registry.certificate", Path, None, "PEM file of the client certificate"),
    Setting("registry.key", Path, None, "PEM file of its key; default: the certificate's file"),
    Setting("registry.key_password", str, None, "the password of that key", secret=True),
    Setting(
        "registry.id_in",
        str,
        "payload",
        "where values are written with the id of their schema",
        choices=("payload", "header"),
    ),
    Setting("registry.port", int, 8081, "the port of the registry that `lastword up` starts"),
    Setting(
        "connect.url",
        str,
        None,
        "a Kafka Connect worker, as in http://localhost:8083; default: that of this machine",
        secret=True,
    ),
    Setting("connect.port", int, 8083, "the port of the Connect worker of this machine"),
    Setting(
        "cluster.instance_id",
        str,
        None,
        "a name that this instance keeps over restarts; default: a new one at each start",
    ),
    Setting(
        "cluster.host", str, "127.0.0.1", "the address on which other instances reach this one"
    ),
    Setting("cluster.port", int, 0, "the port for other instances; 0 is a free one"),
    Setting(
        "cluster.advertised_host",
        str,
        None,
        "the host that other instances connect to; default: cluster.host",
    ),
    Setting(
        "cluster.secret",
        str,
        None,
        "the secret that instances share; default: a file below HOME, for one machine",
        secret=True,
    ),
    Setting(
        "cluster.restart_within",
        str,
        None,
        "how long the partitions of this instance wait for its restart: 60s, 2m, ...; needs "
        "cluster.instance_id; default: not at all",
    ),
    Setting(
        "cluster.restart_writes",
        str,
        "wait",
        "what writes to its partitions do meanwhile: wait, or fail-over to their standbys",
        choices=get_args(RestartWrites),
    ),
    Setting("cluster.rack", str, "", "where this instance runs; copies go to different racks"),
    Setting("cluster.weight", int, 1, "the share of this instance; 2 gets twice as much as 1"),
    Setting(
        "cluster.acceptable_lag",
        int,
        PlanLimits.acceptable_lag,
        "how many offsets behind a copy may be when a partition moves to it",
    ),
    Setting(
        "cluster.max_warmups",
        int,
        PlanLimits.max_warmups,
        "how many copies warm up for a move at a time",
    ),
    Setting("cluster.tls_certificate", Path, None, "PEM file of the certificate for instances"),
    Setting("cluster.tls_key", Path, None, "PEM file of the certificate's key"),
    Setting("cluster.tls_key_password", str, None, "the password of tls_key", secret=True),
    Setting(
        "cluster.tls_ca",
        Path,
        None,
        "PEM file of the authority that signs the certificates of instances",
    ),
    Setting(
        "cluster.tls_mutual",
        bool,
        False,
        "whether instances that connect must present a certificate, too",
    ),
    Setting("service.host", str, "127.0.0.1", "the address the service listens on"),
    Setting("service.port", int, 8090, "the port of the service; the variable PORT sets it, too"),
    Setting("service.tls_certificate", Path, None, "PEM file of the service's certificate chain"),
    Setting("service.tls_key", Path, None, "PEM file of the certificate's key"),
    Setting("service.tls_key_password", str, None, "the password of tls_key", secret=True),
    Setting(
        "service.token",
        str,
        None,
        "a token that may do everything, besides those of `lastword token`; at least 16 characters",
        secret=True,
    ),
    Setting("service.require_token", bool, False, "whether reads need a token on loopback, too"),
    Setting(
        "service.allowed_hosts",
        str,
        None,
        "further host names under which the service is reached, separated by commas",
    ),
    Setting(
        "service.allowed_origins",
        str,
        None,
        "origins of pages that may use the service, separated by commas",
    ),
)

TABLE_SETTINGS: tuple[Setting, ...] = (
    Setting("topic", str, None, "the compacted topic; default: the table's name"),
    Setting("key", str, "string", "the codec of keys"),
    Setting("value", str, "json", "the codec of values"),
    Setting("store", str, "memory", "memory, rocksdb or lru:N"),
    Setting(
        "on_bad",
        str,
        "fail",
        "what happens when a value cannot be decoded",
        choices=("fail", "skip", "quarantine"),
    ),
    Setting("allow_expiry", bool, False, "accept a topic that also deletes by age"),
    Setting(
        "versions",
        str,
        None,
        "keep the last values of each key: how many, or for how long (7d); default: none",
    ),
    Setting(
        "ttl",
        str,
        None,
        "the time to live of values that are written without one (6h); default: none",
    ),
    Setting(
        "snapshot_every",
        str,
        None,
        "how often `lastword up` takes a snapshot: 15m, 1h, ...; default: never",
    ),
    Setting(
        "writes",
        str,
        "direct",
        "which writes the owner of a partition decides: none, those with a condition, or all",
        choices=get_args(WriteMode),
    ),
    Setting(
        "layout",
        str,
        "replicated",
        "whether every instance holds the whole table, or the instances share its partitions",
        choices=get_args(Layout),
    ),
    Setting("standbys", int, 1, "partitioned: how many warm copies each partition has"),
    Setting("max_stale", str, "10s", "partitioned: how old the answer to a read may be"),
    Setting(
        "conditions_required",
        bool,
        False,
        "whether the service refuses writes that do not say which version they replace",
    ),
    Setting(
        "subject",
        str,
        None,
        "the subject of the values' schema in the registry; default: <topic>-value",
    ),
    Setting(
        "key_subject", str, None, "the subject of the keys' schema there; default: <topic>-key"
    ),
    Setting(
        "message",
        str,
        None,
        "the Protobuf message that values are; default: the first one of their schema",
    ),
    Setting("mount", str, None, "the path at which the service offers the table, such as /users"),
    Setting(
        "window",
        str,
        None,
        "the windows of the keys: their length in milliseconds, or session; default: none",
    ),
)

# TOML sections whose keys are not ours: Kafka's own, or names that users give.
FREE_SECTIONS: dict[str, str] = {
    "connection.properties": "further settings of librdkafka, such as client.id; only those that "
    "neither load code nor read files",
    "broker.properties": "further settings for the broker, such as log.cleaner.threads",
    "pipelines": "pipelines that `lastword up` runs on Spark: any name, and MODULE:NAME",
}

BY_NAME = {setting.name: setting for setting in SETTINGS}
