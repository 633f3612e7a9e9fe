"""Names of groups and transactional ids do not collide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastword.errors import ConfigError
from lastword.kafka.groups.names import owner_transactional_id
from tests.support.on_spark.split_input import plan_of


def test_owners_of_different_applications_and_topics_share_no_transactional_id() -> None:
    assert owner_transactional_id("a-b", "c", 0) != owner_transactional_id("a", "b-c", 0)
    assert owner_transactional_id("a", "b-1", 1) != owner_transactional_id("a", "b", 11)


@pytest.mark.parametrize("topics", [["owner"], ["owner", "orders"], ["orders"]])
def test_no_pipeline_has_the_transactional_id_of_an_owner(topics: list[str]) -> None:
    pipeline = replace(plan_of(topics), application_id="shop").transactional_id(0)
    assert pipeline not in {owner_transactional_id("shop", topic, 0) for topic in topics}
    assert pipeline.count(":") < owner_transactional_id("shop", "orders", 0).count(":")


def test_an_application_id_with_a_colon_is_refused() -> None:
    with pytest.raises(ConfigError):
        owner_transactional_id("shop:owner", "orders", 0)
