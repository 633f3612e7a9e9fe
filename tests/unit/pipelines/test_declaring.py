"""What is refused while a pipeline is declared, instead of failing on an executor."""

from __future__ import annotations

import msgspec
import pytest

from lastword.codecs import TypedCodec
from lastword.codecs.base import Codec
from lastword.codecs.registry import Registry
from lastword.codecs.resolve import key_codec
from lastword.errors import ConfigError
from lastword.pipelines import Pipeline, session, tumbling
from lastword.pipelines.api.grouped import GroupedStream
from lastword.pipelines.api.stream import Stream
from lastword.pipelines.graph.own_topics import settings_of
from lastword.snapshots.catalog.decoded_columns import decoded_columns


def stream() -> Stream:
    return Pipeline("shop", bootstrap_servers="localhost:9092").stream("clicks")


def grouped() -> GroupedStream:
    return stream().group_by_key()


def test_final_windows_have_a_topic_of_their_own_and_an_index_with_a_changelog() -> None:
    clicks = grouped()
    counts = clicks.windowed_by(tumbling("60s")).count("n", retention="6h")
    final = counts.suppress(max_windows=10)
    assert (counts.topic, final.topic) == ("shop-n-changelog", "shop-n-final")
    assert (final.key, final.value) == (counts.key, counts.value)
    settings = {name: settings_of(topic) for name, topic in clicks.topology.own_topics.items()}
    expiring = {"cleanup.policy": "compact,delete", "retention.ms": str(30 * 3_600_000)}
    assert settings == {
        "shop-n-changelog": expiring,
        "shop-n-final": {"cleanup.policy": "compact"},
        "shop-n-suppress-changelog": {"cleanup.policy": "compact"},
    }


def test_only_windows_that_are_backed_up_can_be_held_back() -> None:
    with pytest.raises(ConfigError, match="no windows to close"):
        grouped().count("n").suppress()
    windows = grouped().windowed_by(tumbling("60s"))
    with pytest.raises(ConfigError, match="would lose its buffered windows"):
        windows.count("n", changelog=None).suppress()
    with pytest.raises(ConfigError, match="is already suppressed"):
        windows.count("m").suppress().suppress()
    with pytest.raises(ConfigError, match="max_windows cannot be 0"):
        windows.count("k").suppress(max_windows=0)


def test_a_store_cannot_have_schema_ids_in_headers_and_a_table_can() -> None:
    values = Registry("http://localhost:8081", id_in="header").avro('"string"')
    clicks = Pipeline("shop", bootstrap_servers="localhost:9092").stream("clicks", value=values)
    with pytest.raises(ConfigError, match="keeps values without headers") as refused:
        clicks.group_by_key().latest("last")
    assert "id_in='payload'" in str(refused.value.hint)
    clicks.to_table("copy", value=values)


def test_a_class_that_executors_cannot_import_is_refused() -> None:
    class Local(msgspec.Struct):
        name: str

    app = Pipeline("shop", bootstrap_servers="localhost:9092")
    clicks = app.stream("clicks")
    schemas = Registry("http://localhost:8081")
    typed: Codec[Local] = TypedCodec("json", Local)
    for value in (Local, typed, schemas.json_schema(Local)):
        for declare in (
            lambda value=value: app.stream("visits", value=value),
            lambda value=value: clicks.to_table("copy", value=value),
            lambda value=value: clicks.group_by_key().latest("last", value=value),
            lambda value=value: clicks.join("users", max, "joined", table_value=value),
        ):
            with pytest.raises(ConfigError, match="cannot import") as refused:
                declare()
            assert "define the class in a module" in str(refused.value.hint)
    with pytest.raises(ConfigError, match="cannot import"):
        decoded_columns(key_codec("string"), typed)


def test_aggregates_of_sessions_need_a_merger() -> None:
    visits = grouped().windowed_by(session("5m"))
    with pytest.raises(ConfigError, match="has no merger"):
        visits.aggregate(list, lambda key, value, seen: [*seen, value], "seen")
    merged = visits.aggregate(
        list,
        lambda key, value, seen: [*seen, value],
        "seen",
        merger=lambda key, earlier, later: earlier + later,
    )
    assert merged.topic == "shop-seen-changelog"


def test_a_store_of_fixed_size_has_a_capacity_a_changelog_and_no_windows() -> None:
    with pytest.raises(ConfigError, match="cannot hold 0 keys"):
        grouped().lru(0)
    with pytest.raises(ConfigError, match="needs its changelog"):
        grouped().lru(10).count("n", changelog=None)
    with pytest.raises(ConfigError, match="by age"):
        grouped().lru(10).windowed_by(tumbling("60s")).count("n")


def test_duplicates_are_remembered_for_a_time_or_by_number() -> None:
    with pytest.raises(ConfigError, match="a time or a number"):
        stream().deduplicate("id", "seen")
    with pytest.raises(ConfigError, match="a time or a number"):
        stream().deduplicate("id", "seen", within="1m", capacity=10)
    with pytest.raises(ConfigError, match="no Bloom filter"):
        stream().deduplicate("id", "seen", capacity=0)
    with pytest.raises(ConfigError, match="is too short"):
        stream().deduplicate("id", "seen", within=0)


def test_branches_share_the_stages_of_their_stream_and_no_others() -> None:
    clicks = stream()
    once = clicks.join("users", lambda click, user: user, "users")
    once.group_by_key().count("a")
    once.group_by_key().count("b")
    with pytest.raises(ConfigError, match="two stores are named 'users'"):
        clicks.join("users", lambda click, user: user, "users").group_by_key().count("c")


def test_a_transformation_comes_first_and_is_of_its_topics_part() -> None:
    app = Pipeline("shop")
    clicks = app.stream("clicks")
    with pytest.raises(ConfigError, match="must be the first step"):
        clicks.filter(lambda key, value: True).transform(lambda records: records, "same")
    clicks.transform(lambda records: records, "same", keys_stay=True).group_by_key().count("a")
    clicks.group_by_key().count("b")
    (part,) = app._topology.parts()
    assert {"source clicks", "source clicks/same", "a", "b"} == {node.name for node in part}


def test_a_store_that_more_than_its_events_decide_is_not_rebuilt() -> None:
    app = Pipeline("shop", bootstrap_servers="localhost:9092")
    both = app.stream("clicks", "views")
    both.group_by_key().count("both")
    joined = app.stream("clicks").join("users", lambda click, user: user, "users")
    joined.group_by_key().count("joined")
    for store in ("both", "joined"):
        with pytest.raises(ConfigError, match="one topic alone"):
            app.rebuild(store, spark=object())  # type: ignore[arg-type]
