"""Where the snapshots and the history of a topic are: below one root, a directory per topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lastword.errors import ConfigError


@dataclass(frozen=True)
class Location:
    """Two Delta tables of one topic: ``<root>/<topic>/snapshots`` and ``<root>/<topic>/history``.

    ``root`` is a directory or any address that both Spark and deltalake can write, as in
    ``s3a://bucket/lastword``.

    >>> Location("s3a://bucket/lastword/", "users").snapshots
    's3a://bucket/lastword/users/snapshots'
    """

    root: str
    topic: str

    def __post_init__(self) -> None:
        if not self.root:
            raise ConfigError(
                "snapshots need a location",
                hint="a directory, or an address such as s3a://bucket/x",
            )

    @property
    def snapshots(self) -> str:
        """The Delta table whose versions are the snapshots."""
        return self._below("snapshots")

    @property
    def history(self) -> str:
        """The Delta table of every change."""
        return self._below("history")

    @property
    def may_hold_any(self) -> bool:
        """False if there are none; checking first saves loading the library."""
        remote = "://" in self.root
        return remote or any(Path(each).is_dir() for each in (self.snapshots, self.history))

    def _below(self, name: str) -> str:
        if "://" in self.root:
            return f"{self.root.rstrip('/')}/{self.topic}/{name}"
        return str(Path(self.root).expanduser().absolute() / self.topic / name)
