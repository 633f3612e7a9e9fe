"""A home of its own for a test, with what every home would only fetch and prepare again."""

from __future__ import annotations

from pathlib import Path

from lastword.home import HomeFolder

PREPARED = (HomeFolder.JARS, HomeFolder.BROKER_CLASSES, HomeFolder.SPARK_CLASSES)


def make_prepared_home(home: Path, prepared: Path) -> Path:
    """``home``, empty but for the jars and the class archives of the home ``prepared``."""
    home.mkdir(exist_ok=True)
    for folder in PREPARED:
        (prepared / folder).mkdir(parents=True, exist_ok=True)
        (home / folder).symlink_to(prepared / folder)
    return home
