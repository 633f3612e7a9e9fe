"""Settings that many processes share: typed, with defaults, watched, with their history."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from lastword.errors import ConfigError, LastwordError, WatchLostError
from lastword.records import ABSENT, Absent, Version
from lastword.table.entry import Change
from lastword.table.table import Table
from lastword.table.watch import Watch

S = TypeVar("S", bound=msgspec.Struct)
OnChange = Callable[[S, frozenset[str]], None]
"""(all settings, the names of those that changed)"""

log = logging.getLogger(__name__)


class ConfigStore(Generic[S]):
    """The settings described by ``kind``, a msgspec Struct whose fields all have defaults.

    Each field is a key of ``table``, an owned table with JSON values; one that was never set has
    its default. A value of the wrong type, written by another client, counts as not set and is
    logged. ``current`` is a plain attribute: reading settings costs nothing.

    Used as a context manager it follows the table from ``__enter__`` to ``__exit__``. The table is
    opened and closed by the caller; ``history`` and ``rollback`` need one that keeps versions
    (``Table(..., versions=20)``).
    """

    def __init__(self, table: Table, kind: type[S]) -> None:
        self.table = table
        self.kind = kind
        self._types = {field.name: field.type for field in msgspec.structs.fields(kind)}
        self.current: S = _defaults(kind)
        self._listeners: list[OnChange[S]] = []
        self._watch: Watch | None = None
        self._closed = False
        self._closing = threading.Lock()
        self._thread: threading.Thread | None = None

    # -- life ------------------------------------------------------------------------------

    def __enter__(self) -> ConfigStore[S]:
        self._watch = watch = self.table.watch()
        self.current = self._read_all()
        self._thread = threading.Thread(
            target=self._follow, args=(watch,), name=f"config-{self.table.name}", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop following; idempotent. ``current`` stays as it was last."""
        with self._closing:
            self._closed = True
            watch = self._watch
        if watch is not None:
            watch.close()
        if self._thread is not None:
            self._thread.join()

    def on_change(self, listener: OnChange[S]) -> None:
        """Call ``listener`` after each change by any process, on a thread of this store.

        A listener that raises is logged; the others are called anyway.
        """
        self._listeners.append(listener)

    # -- writing ---------------------------------------------------------------------------

    def set(self, name: str, value: Any, *, if_version: Version | Absent | None = None) -> Version:
        """Set one setting in every process; readable here when it returns.

        With ``if_version`` it is set only if nobody has changed it since, else ConflictError.
        """
        return self.table.put(name, self._checked(name, value), if_version=if_version)

    def reset(self, name: str) -> Version:
        """Reset a setting to its default."""
        self._type(name)
        return self.table.delete(name)

    def history(self, name: str) -> list[Change]:
        """The values that a setting had, resets included, oldest first."""
        self._type(name)
        return self.table.versions(name)

    def rollback(self, name: str, to: Version) -> Version:
        """Set a setting to what it was as of ``to``, one of its ``history``; this is a new version.

        Raises ConflictError if somebody changes it at the same moment.
        """
        found = [change for change in self.history(name) if change.version == to]
        if not found:
            raise ConfigError(
                f"{name} has no version {to} in its history",
                hint="history() lists those that are kept",
            )
        entry = self.table.entry(name)
        current = ABSENT if entry is None else entry.version
        if found[0].deleted:
            return self.table.delete(name, if_version=current)
        return self.table.put(name, self._checked(name, found[0].value), if_version=current)

    # -- following -------------------------------------------------------------------------

    def _follow(self, watch: Watch) -> None:
        following: Watch | None = watch
        while following is not None:
            try:
                for change in following:
                    self._take(frozenset((change.key,)))
                return
            except WatchLostError:
                log.warning(
                    "%s changed faster than it was followed; reading it again", self.table.name
                )
                following = self._follow_again()
            except LastwordError:
                if not self._closed:
                    log.exception("%s is no longer followed", self.table.name)
                return

    def _follow_again(self) -> Watch | None:
        self.table.wait_ready()
        with self._closing:
            if self._closed:
                return None
            self._watch = watch = self.table.watch()
        self._take(frozenset(self._types))
        return watch

    def _take(self, names: frozenset[str]) -> None:
        changed = names & self._types.keys()
        if not changed:
            return
        self.current = self._read_all()
        for listener in self._listeners:
            try:
                listener(self.current, changed)
            except Exception:
                log.exception("a listener of %s failed", self.table.name)

    def _read_all(self) -> S:
        given: dict[str, Any] = {}
        for name, value in self.table.get_many(self._types).items():
            try:
                given[name] = msgspec.convert(value, self._types[name])
            except msgspec.ValidationError as error:
                log.warning("%s: %s does not fit: %s", self.table.name, name, error)
        return self.kind(**given)

    # -- types -----------------------------------------------------------------------------

    def _type(self, name: str) -> Any:
        if name not in self._types:
            raise ConfigError(
                f"{self.kind.__name__} has no setting {name!r}",
                hint="it has " + ", ".join(self._types),
            )
        return self._types[name]

    def _checked(self, name: str, value: Any) -> Any:
        kind = self._type(name)
        try:
            return msgspec.to_builtins(msgspec.convert(value, kind))
        except msgspec.ValidationError as error:
            raise ConfigError(f"{name} cannot be set: {error}", hint=f"it is a {kind}") from error


def _defaults(kind: type[S]) -> S:
    try:
        return kind()
    except TypeError as error:
        raise ConfigError(
            f"{kind.__name__} has settings without a default",
            hint="give every field a default: it applies until somebody sets the field",
        ) from error
