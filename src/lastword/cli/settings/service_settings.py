"""From settings to a ``Service``: for ``lastword serve``, and for ``lastword up``."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path

from lastword.broker.info import NodeInfo, find_running
from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cli.settings.table_making import make_table
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import DECODING, TableSpec
from lastword.errors import ConfigError
from lastword.home import HomeFolder
from lastword.metrics import Metrics
from lastword.service import Mount, Service, ServiceConfig, TlsFiles, TokenFile
from lastword.service.api.served import check_mounts
from lastword.service.http.tokens import EVERY_TABLE
from lastword.table.table import Table

FIRST_TOKEN = "first"  # noqa: S105 - its name
# Requests leave no cycles behind, yet with the default of 700 objects those in flight trigger
# collections all the time: a tenth of the CPU time of the service's thread.
_OBJECTS_PER_COLLECTION = 20_000


def token_file(app: AppContext) -> TokenFile:
    """The tokens of this installation."""
    return TokenFile(_tokens_path(app))


def service_of(
    app: AppContext,
    mounts: Sequence[Mount],
    metrics: Sequence[Metrics] = (),
    captures: Sequence[CaptureMonitor] = (),
) -> Service:
    """A service for these tables as the settings say; not started yet."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    return Service(
        service_config(app),
        mounts,
        local_brokers=lambda cluster: _local_brokers(app, cluster),
        metrics=metrics,
        captures=captures,
    )


def show_first_token(app: AppContext) -> None:
    """Make a token at the first start and show it, this once. Elsewhere than on the loopback
    address, one must have been made before."""
    config, tokens = service_config(app), token_file(app)
    if config.token is not None or not config.loopback or tokens.tokens():
        return
    secret = tokens.create(FIRST_TOKEN, {EVERY_TABLE: "admin"})
    app.output.line(
        f"token for writing (shown only now; `lastword token create` makes others):\n  {secret}",
        {"token": secret},
    )


def service_config(app: AppContext) -> ServiceConfig:
    """The settings of the section [service]."""
    given = app.settings.section("service")
    certificate, key = given["tls_certificate"], given["tls_key"]
    if (certificate is None) != (key is None):
        raise ConfigError(
            "TLS needs both a certificate and its key",
            hint="set service.tls_certificate and service.tls_key",
        )
    password = given["tls_key_password"]
    tls = TlsFiles(
        Path(str(certificate)), Path(str(key)), None if password is None else str(password)
    )
    return ServiceConfig(
        tokens_file=_tokens_path(app),
        host=str(given["host"]),
        port=_port(app),
        tls=tls if certificate is not None else None,
        token=_text(given["token"]),
        require_token=bool(given["require_token"]),
        allowed_hosts=_listed(given["allowed_hosts"]),
        allowed_origins=_listed(given["allowed_origins"]),
    )


def mount_of(app: AppContext, spec: TableSpec) -> Mount:
    """The table of ``spec`` at its mount; the service starts it."""
    return mounted(make_table(app, spec, store=spec.store, writes=spec.writes), spec)


def mounted(table: Table, spec: TableSpec) -> Mount:
    """A table at the mount of its settings; raises ConfigError for one that cannot be."""
    mount = Mount(table, spec.mount, spec.conditions_required, spec.catalog_hint(*DECODING))
    try:
        check_mounts([mount])
    except ConfigError as error:
        raise spec.explained(error, "mount") from error
    return mount


def _port(app: AppContext) -> int:
    """PORT is what hosting platforms set; what is set for Lastword itself wins over it."""
    given = app.settings["service.port"]
    hosted = os.environ.get("PORT")
    own = "service.port" in app.flags or os.environ.get("LASTWORD_SERVICE_PORT")
    if hosted is None or own:
        return int(str(given))
    if not hosted.isdecimal():
        raise ConfigError(f"PORT is {hosted!r}", hint="it takes a whole number")
    return int(hosted)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _listed(value: object) -> tuple[str, ...]:
    return tuple(each.strip() for each in str(value or "").split(",") if each.strip())


def _tokens_path(app: AppContext) -> Path:
    return app.home / HomeFolder.SERVICE / "tokens.json"


def _local_brokers(app: AppContext, cluster_id: str) -> Sequence[NodeInfo]:
    """The brokers on this machine, if they are those of the cluster."""
    running = find_running(app.home)
    if running is None or running.cluster_id != cluster_id:
        return ()
    return running.running_nodes()
