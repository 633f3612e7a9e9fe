from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lastword.durations import milliseconds
from lastword.errors import ConfigError


@pytest.mark.parametrize(
    ("duration", "expected_ms"),
    [
        ("500ms", 500),
        ("60s", 60_000),
        ("5m", 300_000),
        ("6h", 21_600_000),
        ("1d", 86_400_000),
        (" 1.5 h ", 5_400_000),
        (250, 250),
        (timedelta(seconds=2), 2_000),
    ],
)
def test_a_duration_is_text_with_a_unit_milliseconds_or_a_timedelta(
    duration: Any, expected_ms: int
) -> None:
    assert milliseconds(duration) == expected_ms


@pytest.mark.parametrize(
    "duration", ["60", "", "s", "1w", "-1s", "1s 2s", None, True, 1.5, -1, "9" * 400 + "s"]
)
def test_anything_else_is_refused_by_name(duration: Any) -> None:
    with pytest.raises(ConfigError, match="grace"):
        milliseconds(duration, what="grace")
