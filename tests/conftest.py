"""What all tests share; the broker fixtures come from ``lastword.testing.plugin``."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the broker, so that ``pytest -m 'not broker'`` leaves it out."""
    for item in items:
        if {HERE / "broker", HERE / "spark"} & set(item.path.parents):
            item.add_marker(pytest.mark.broker)
