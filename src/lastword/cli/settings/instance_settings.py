"""From settings to how this process appears to the other instances of its application."""

from __future__ import annotations

from pathlib import Path

from lastword.cli.support.app_context import AppContext
from lastword.cluster.copies import PlanLimits
from lastword.cluster.peers.peer_settings import PeerSettings, PeerTls
from lastword.errors import ConfigError
from lastword.table.table_config import InstanceConfig


def instance_settings(app: AppContext, *, guest: bool) -> InstanceConfig:
    """The settings of the section [cluster]; a guest has no name of its own."""
    given = app.settings.section("cluster")
    return InstanceConfig(
        instance_id=None if guest else _text(given["instance_id"]),
        peer=PeerSettings(
            host=str(given["host"]),
            port=0 if guest else int(str(given["port"])),
            advertised_host=_text(given["advertised_host"]),
            secret=_text(given["secret"]),
            tls=_tls(app),
        ),
        guest=guest,
        rack=str(given["rack"]),
        weight=int(str(given["weight"])),
        restart_within=None if guest else _text(given["restart_within"]),
        restart_writes="fail-over" if given["restart_writes"] == "fail-over" else "wait",
        limits=PlanLimits(int(str(given["acceptable_lag"])), int(str(given["max_warmups"]))),
    )


def _tls(app: AppContext) -> PeerTls | None:
    given = app.settings.section("cluster")
    certificate, key, ca = given["tls_certificate"], given["tls_key"], given["tls_ca"]
    if (certificate is None) != (key is None):
        raise ConfigError(
            "TLS between instances needs both a certificate and its key",
            hint="set cluster.tls_certificate and cluster.tls_key",
        )
    if certificate is None:
        return None
    return PeerTls(
        Path(str(certificate)),
        Path(str(key)),
        None if ca is None else Path(str(ca)),
        _text(given["tls_key_password"]),
        bool(given["tls_mutual"]),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
