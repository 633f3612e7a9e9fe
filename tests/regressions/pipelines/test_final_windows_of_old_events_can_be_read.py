"""The topic of final windows expired by age, regardless of the settings of their changelog.

Records have the time of their window, so the broker deleted windows of old events as soon as it
looked, before anybody had read them.
"""

from __future__ import annotations

from lastword.pipelines import tumbling
from lastword.pipelines.api.result import Result
from tests.support.on_spark.pipelines import PARTITIONS, Bench

A_DAY_AND_A_MINUTE_MS = 86_460_000


def final_windows(bench: Bench, **settings: str | int) -> Result:
    app = bench.pipeline()
    windows = app.stream(bench.source).group_by_key().windowed_by(tumbling("10s"))
    result = windows.count("counts", retention="60s").suppress(settings=settings)
    app.create_topics()
    return result


def test_final_windows_leave_only_when_their_store_forgets_them(bench: Bench) -> None:
    # As an older version made it.
    topic = f"app-{bench.source}-counts-final"
    bench.admin.create(
        topic,
        partitions=PARTITIONS,
        replication=1,
        settings={"cleanup.policy": "compact,delete", "retention.ms": str(A_DAY_AND_A_MINUTE_MS)},
    )
    assert final_windows(bench).topic == topic
    assert bench.admin.settings(topic)["cleanup.policy"] == "compact"


def test_the_topic_of_final_windows_takes_settings(bench: Bench) -> None:
    given = {"cleanup.policy": "compact,delete", "retention.ms": 3_600_000}
    topic = final_windows(bench, **given).topic
    assert topic is not None
    found = bench.admin.settings(topic)
    assert {name: found[name] for name in given} == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "3600000",
    }
