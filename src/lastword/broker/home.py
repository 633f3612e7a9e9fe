"""Where everything Lastword keeps on this machine lives; one rule for the CLI and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from lastword.private_files import tighten

# Only these: a home may be a directory that holds other things, too.
_OURS = (
    "broker",
    "jars",
    "logs",
    "service",
    "snapshots",
    "spark-classes",
    "spark-java",
    "state",
)


def default_home(environ: Mapping[str, str]) -> Path:
    """``LASTWORD_HOME`` if it is set, else the platform's directory for a user's data."""
    if given := environ.get("LASTWORD_HOME"):
        return Path(given).expanduser().absolute()
    return Path(platformdirs.user_data_dir("lastword", appauthor=False))


def tighten_home(home: Path) -> None:
    """Take what is kept below ``home`` from other users; earlier versions left it readable."""
    for name in _OURS:
        tighten(home / name)
