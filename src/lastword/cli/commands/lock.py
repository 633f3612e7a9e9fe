"""``lastword lock``: run a command while holding a lock, as ``flock`` does on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing, suppress
from queue import Empty, SimpleQueue

import click

from lastword.cli.settings.instance_settings import instance_settings
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.stop_signals import passing_signals, stop_signals
from lastword.errors import ConfigError, LeaseLostError
from lastword.table.writing.application_lock import application_locks
from lastword.table.writing.locks import DEFAULT_TTL, Lock, Locks

TOKEN_VARIABLE = "LASTWORD_LOCK_TOKEN"  # noqa: S105 - its name
_GRACE_S = 10.0
_LOOK_S = 0.1


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
    holds the lock. SIGINT and SIGTERM are passed on to the command; the lock is released when it
    has ended.
    """
    if not command:
        raise ConfigError("a COMMAND is missing", hint=f"lastword lock {name} -- COMMAND ARG...")
    topic = "" if table is None else str(app.settings.table(table)["topic"])
    locks = application_locks(
        app.connection, app.application_id, instance_settings(app, guest=True), topic=topic
    )
    sys.exit(_run_locked(locks, locks.lock(name, ttl=ttl, wait=wait), command))


def _run_locked(locks: Locks, held: Lock, command: tuple[str, ...]) -> int:
    """The exit status; SIGINT and SIGTERM end the wait for the lock, then go to the command."""
    received: SimpleQueue[int] = SimpleQueue()
    with stop_signals() as signals, closing(locks):
        try:
            token = held.acquire()
        except KeyboardInterrupt:
            return 128 + signals.number
        # Nothing is interrupted from here on: neither the command nor the release gets lost.
        with passing_signals(received.put), closing(locks):
            status = _run(held, command, token, received)
            held.release()
    return status


def _run(held: Lock, command: tuple[str, ...], token: int, received: SimpleQueue[int]) -> int:
    """The exit status of the command; it is ended when the lock is lost."""
    environment = {**os.environ, TOKEN_VARIABLE: str(token)}
    try:
        process = subprocess.Popen(command, env=environment)  # noqa: S603 - the user's own
    except OSError as error:
        raise ConfigError(
            f"cannot run {command[0]}: {error.strerror}", hint="is it there, and executable?"
        ) from error
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(held.lost, process, received, ended))
    watcher.start()
    status = process.wait()
    ended.set()
    watcher.join()
    if held.lost.is_set():
        raise LeaseLostError(
            f"the lock was lost while {command[0]} ran, so it was ended",
            hint="is the cluster reachable? a longer --ttl survives longer interruptions",
        )
    return status if status >= 0 else 128 - status


def _watch(
    lost: threading.Event,
    process: subprocess.Popen[bytes],
    received: SimpleQueue[int],
    ended: threading.Event,
) -> None:
    """Pass signals on to the command, and end it when the lock is lost."""
    while not ended.is_set():
        if lost.is_set():
            process.terminate()
            if not ended.wait(_GRACE_S):
                process.kill()
            return
        with suppress(Empty):
            process.send_signal(received.get(timeout=_LOOK_S))
