"""``join`` accepted a stream, or a result, where only the name of a topic works.

The pipeline was declared without an error and failed when it ran, far from the mistake.
"""

from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import ConfigError
from lastword.pipelines import Pipeline


def test_a_join_with_anything_but_a_topic_name_is_refused_when_it_is_declared() -> None:
    app = Pipeline("app", bootstrap_servers="unused:9092")
    profiles = app.stream("profiles")
    orders = app.stream("orders")
    others: list[Any] = [profiles, profiles.group_by_key().latest("latest"), None]
    for other in others:
        with pytest.raises(ConfigError, match="name of a compacted topic, not a") as refused:
            orders.join(other, lambda order, _: order, "enriched")
        assert "to_table" in (refused.value.hint or "")
    orders.join("profiles", lambda order, _: order, "enriched")
