"""No two pipelines share a transactional id.

Application id and topics were joined by hyphens, which both may contain. The application `a-b` on
the topic `c` and the application `a` on `b-c` had the same ids and ended each other's transactions.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.on_spark.split_input import plan_of


def test_ids_of_different_applications_and_topics_differ() -> None:
    one, other = plan_of(["c"]), plan_of(["b-c"])
    ids = {
        replace(one, application_id="a-b").transactional_id(0),
        replace(other, application_id="a").transactional_id(0),
    }
    assert len(ids) == 2
