"""``lastword serve``: tables over HTTP, until Ctrl-C."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lastword.cli.captures.capture_watch import watch_captures
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.cataloging import record_owners
from lastword.cli.support.stop_signals import calling_at_signals
from lastword.cli.support.table_options import table_spec
from lastword.errors import ConfigError

if TYPE_CHECKING:
    from lastword.cli.settings import SettingValue


@click.command()
@with_cluster
@click.argument("tables", nargs=-1)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="The port.  [default: PORT, else 8090]")
@click.option(
    "--tls-certificate",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="PEM file of the certificate chain; any address but loopback needs TLS.",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="PEM file of the certificate's key.",
)
@click.option("--require-token", is_flag=True, default=None, help="Require a token for reads, too.")
def serve(app: AppContext, /, tables: tuple[str, ...], **flags: SettingValue) -> None:
    """Serve TABLES over HTTP until Ctrl-C; without TABLES, those of lastword.toml.

    Every table is found under /tables/TABLE, and at its `mount` if it has one. On the loopback
    address reads need no token. The first start makes a token for writes and shows it.

    The captures of lastword.toml, and those of these tables that were started on this machine, are
    monitored: see /captures and the dashboard.
    """
    # Loads Starlette and Granian, which no other command needs.
    from lastword.cli.settings.service_settings import (
        mount_of,
        service_config,
        service_of,
        show_first_token,
    )

    app.flags |= {f"service.{name}": value for name, value in flags.items() if value is not None}
    service_config(app)  # reports wrong settings before it connects
    names = tables or tuple(app.settings.tables)
    if not names:
        raise ConfigError(
            "there is no table to serve",
            hint="name one: lastword serve user-profiles; or list them in lastword.toml",
        )
    specs = [table_spec(app, name) for name in names]
    stop = threading.Event()
    with calling_at_signals(stop.set), ExitStack() as running:
        captures = watch_captures(app, names, running)
        service = service_of(app, [mount_of(app, spec) for spec in specs], captures=captures)
        show_first_token(app)
        running.enter_context(service)
        record_owners(app, specs)
        for spec in specs:
            path = spec.mount or f"/tables/{spec.name}/keys"
            app.output.line(
                f"{spec.name} at {service.url}{path}",
                {"table": spec.name, "url": f"{service.url}{path}"},
            )
        stop.wait()
        app.output.info("stopping")
