"""Which captures there are: those of ``lastword.toml``, and those that commands have made."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.capture_spec import CaptureSpec, kept_capture, kept_captures
from lastword.cli.support.app_context import AppContext
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.worker_info import WorkerInfo, read_worker
from lastword.errors import ConfigError, ConnectWorkerError
from lastword.home import HomeFolder


def captures_directory(app: AppContext) -> Path:
    """Where this machine remembers the captures that it has started."""
    return app.home / HomeFolder.CDC


def captures_of_settings(app: AppContext) -> list[CaptureSpec]:
    """The captures of ``lastword.toml``."""
    return [_of_settings(app, name) for name in app.settings.captures]


def every_capture(app: AppContext) -> list[CaptureSpec]:
    """Those of the settings, and those that were started here."""
    kept = {spec.name: spec for spec in kept_captures(captures_directory(app))}
    named = {spec.name: spec for spec in captures_of_settings(app)}
    return [spec for _, spec in sorted({**kept, **named}.items())]


def capture_named(app: AppContext, name: str) -> CaptureSpec:
    """The capture of that name; raises ConfigError when nobody has heard of it."""
    if name in app.settings.captures:
        return _of_settings(app, name)
    found = kept_capture(captures_directory(app), name)
    if found is None:
        raise ConfigError(
            f"there is no capture {name!r}", hint="lastword cdc status lists all that are known"
        )
    return found


def capture_of(app: AppContext, spec: CaptureSpec) -> Capture:
    """What commands use; raises ConnectWorkerError when the worker of this machine is down."""
    worker = None if _connect_url(app, spec) else running_worker(app)
    return Capture(
        spec.source,
        spec.database,
        client_of(app, spec),
        secrets=None if worker is None else worker.secrets,
        password_reference=spec.password_reference,
    )


def client_of(app: AppContext, spec: CaptureSpec) -> ConnectClient:
    """The Connect worker of a capture: the user's own if one is named, else that of this machine.

    That of this machine may be down: then it does not answer.
    """
    url = _connect_url(app, spec)
    if url is not None:
        return ConnectClient(url)
    return ConnectClient(running_worker(app).url)


def uses_own_worker(app: AppContext, spec: CaptureSpec) -> bool:
    """Whether its connector runs on a Connect cluster of the user."""
    return _connect_url(app, spec) is not None


def running_worker(app: AppContext) -> WorkerInfo:
    """The worker of this machine; raises ConnectWorkerError unless it runs."""
    found = read_worker(app.home)
    if found is None or not found.process.is_running():
        raise ConnectWorkerError(
            "no Connect worker runs on this machine",
            hint="start it: lastword connect start; its connectors go on where they were",
        )
    return found


def _connect_url(app: AppContext, spec: CaptureSpec) -> str | None:
    given = app.settings["connect.url"]
    return spec.connect_url if given is None else str(given)


def _of_settings(app: AppContext, name: str) -> CaptureSpec:
    given = {key: str(value) for key, value in app.settings.captures[name].items()}
    missing = [key for key in ("url", "table") if key not in given]
    if missing:
        raise ConfigError(
            f"cdc.{name} in lastword.toml has no {' and no '.join(missing)}",
            hint='as in url = "postgresql://shop@localhost/shop" and table = "public.orders"',
        )
    spec = msgspec.convert({"name": name, **given}, CaptureSpec)
    spec.check()
    return spec
