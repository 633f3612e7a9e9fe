"""``lastword lock``: run a command while holding a lock, as ``flock`` does on one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import click

from lastword.cli.settings.instance_settings import instance_settings
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.errors import ConfigError, LeaseLostError
from lastword.table.writing.application_lock import application_locks
from lastword.table.writing.locks import DEFAULT_TTL, Lock

TOKEN_VARIABLE = "LASTWORD_LOCK_TOKEN"  # noqa: S105 - its name
_GRACE_S = 10.0


@click.command()
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--ttl",
    default=DEFAULT_TTL,
    show_default=True,
    help="How soon others get the lock if this process dies: 10s, 1m, ...",
)
@click.option(
    "--wait",
    default="0s",
    show_default=True,
    help="How long to wait for the lock if another process holds it.",
)
@click.option(
    "--table",
    help="The table that the lock belongs to.  [default: none, it belongs to the application]",
)
@with_cluster
def lock(  # noqa: PLR0917 - click passes them by name
    app: AppContext, name: str, command: tuple[str, ...], ttl: str, wait: str, table: str | None
) -> None:
    """Run COMMAND while holding the lock NAME, and exit with its status.

    At most one process on all machines holds a lock: `lastword lock nightly -- ./report.sh` runs
    the report once, wherever it is started. The lock is renewed while the command runs. If it is
    lost anyway, the command is ended. LASTWORD_LOCK_TOKEN holds a token that grows with each
    holder, so that the protected resource can refuse an older one. Exits with 1 if another process
    holds the lock.
    """
    if not command:
        raise ConfigError("a COMMAND is missing", hint=f"lastword lock {name} -- COMMAND ARG...")
    topic = "" if table is None else str(app.settings.table(table)["topic"])
    locks = application_locks(
        app.connection, app.application_id, instance_settings(app, guest=True), topic=topic
    )
    try:
        held = locks.lock(name, ttl=ttl, wait=wait)
        with held as token:
            status = _run(held, command, token)
    finally:
        locks.close()
    sys.exit(status)


def _run(held: Lock, command: tuple[str, ...], token: int) -> int:
    """The exit status of the command; it is ended when the lock is lost."""
    environment = {**os.environ, TOKEN_VARIABLE: str(token)}
    try:
        process = subprocess.Popen(command, env=environment)  # noqa: S603 - the user's own
    except OSError as error:
        raise ConfigError(
            f"cannot run {command[0]}: {error.strerror}", hint="is it there, and executable?"
        ) from error
    ended = threading.Event()
    watcher = threading.Thread(target=_end_if_lost, args=(held, process, ended), daemon=True)
    watcher.start()
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        status = process.wait()
    finally:
        ended.set()
    if held.lost.is_set():
        raise LeaseLostError(
            f"the lock was lost while {command[0]} ran, so it was ended",
            hint="is the cluster reachable? a longer --ttl survives longer interruptions",
        )
    return status if status >= 0 else 128 - status


def _end_if_lost(held: Lock, process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    lost = held.lost
    while not ended.is_set():
        if lost.wait(0.1):
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            return
