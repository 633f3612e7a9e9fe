"""The one rule for where everything lives that Lastword keeps on this machine.

``LASTWORD_HOME`` if it is set, else the platform's directory for a user's data. The command line,
tables, pipelines and tests that are given no place of their own all ask here.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

import platformdirs

from lastword.private_files import tighten


class HomeFolder(StrEnum):
    """Every folder below the home; docs/reference/settings.md says what is in each."""

    BROKER = "broker"
    BROKER_CLASSES = "broker-classes"
    CDC = "cdc"
    CLUSTER = "cluster"
    CONNECT = "connect"
    JARS = "jars"
    LOGS = "logs"
    REGISTRY = "registry"
    SERVICE = "service"
    SNAPSHOTS = "snapshots"
    SPARK_CLASSES = "spark-classes"
    SPARK_JAVA = "spark-java"
    STATE = "state"


def default_home() -> Path:
    """``LASTWORD_HOME``, or the platform's directory; never the system's temporary one."""
    if given := os.environ.get("LASTWORD_HOME"):
        return Path(given).expanduser().absolute()
    return Path(platformdirs.user_data_dir("lastword", appauthor=False))


def default_state_dir() -> Path:
    """Where tables and pipelines keep their stores unless they are given a place."""
    return default_home() / HomeFolder.STATE


def tighten_home(home: Path) -> None:
    """Take what is kept below ``home`` from other users; earlier versions left it readable.

    Only the folders that are Lastword's: a home may be a directory that holds other things, too.
    """
    for folder in HomeFolder:
        tighten(home / folder)
