from __future__ import annotations

import pytest

from lastword.codecs.windowed import WindowedCodec
from lastword.errors import ConfigError
from lastword.pipelines import Pipeline, tumbling
from lastword.pipelines.graph.offset_metadata import (
    OffsetMetadata,
    encode_metadata,
    join_metadata,
)
from lastword.pipelines.graph.own_topics import settings_of
from lastword.pipelines.graph.part import is_end


def pipeline() -> Pipeline:
    return Pipeline("shop", bootstrap_servers="localhost:9092")


def parts_of(app: Pipeline) -> list[list[str]]:
    return [[node.name for node in part if is_end(node)] for part in app._topology.parts()]


def test_changelogs_are_named_as_kafka_streams_names_them() -> None:
    counts = pipeline().stream("clicks").group_by_key().count("per-user")
    assert (counts.topic, counts.key, counts.value) == (
        "shop-per-user-changelog",
        "string",
        "int64",
    )


def test_the_key_of_a_windowed_result_is_read_with_its_window() -> None:
    grouped = pipeline().stream("clicks").group_by_key().windowed_by(tumbling("60s"))
    key = grouped.count("per-minute").key
    assert isinstance(key, WindowedCodec)
    assert key.size_ms == 60_000


def test_branches_of_one_source_share_a_query_and_others_have_their_own() -> None:
    app = pipeline()
    app.stream("a").group_by_key().count("one")
    app.stream("b").group_by_key().count("two")
    app.stream("a").group_by_key().latest("three")
    assert parts_of(app) == [["two"], ["one", "three"]]


def test_a_stream_of_two_topics_joins_what_reads_either() -> None:
    app = pipeline()
    app.stream("a").group_by_key().count("one")
    app.stream("b").group_by_key().count("two")
    app.stream("a").merge(app.stream("b")).group_by_key().count("both")
    assert parts_of(app) == [["one", "two", "both"]]


def test_what_writes_a_repartition_topic_runs_before_what_reads_it() -> None:
    app = pipeline()
    rekeyed = app.stream("clicks").select_key(lambda key, value: value["country"])
    rekeyed.group_by_key().count("per-country")
    assert parts_of(app) == [["to shop-per-country-repartition"], ["per-country"]]


def test_a_pipeline_that_reads_what_it_writes_is_refused() -> None:
    app = pipeline()
    app.stream("clicks").to_table("clicks")
    with pytest.raises(ConfigError, match="cycle"):
        parts_of(app)


def test_a_pipeline_that_computes_nothing_is_refused() -> None:
    app = pipeline()
    app.stream("clicks")
    with pytest.raises(ConfigError, match="has no result"):
        parts_of(app)


def test_two_stores_of_one_name_are_refused() -> None:
    grouped = pipeline().stream("clicks").group_by_key()
    grouped.count("n", changelog=None)
    with pytest.raises(ConfigError, match="two stores"):
        grouped.count("n", changelog=None)
    grouped.count("m")
    with pytest.raises(ConfigError, match="written twice"):
        grouped.latest("m")


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "-a"])
def test_a_name_that_is_not_valid_for_topics_and_directories_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be named"):
        pipeline().stream("clicks").group_by_key().count(name)
    with pytest.raises(ConfigError, match="cannot be named"):
        Pipeline(name)


def test_a_topic_is_read_in_one_way_only() -> None:
    app = pipeline()
    app.stream("clicks", timestamp="at")
    app.stream("clicks", timestamp="at")
    with pytest.raises(ConfigError, match="two different ways"):
        app.stream("clicks", value="string", timestamp="at")


def test_merging_streams_of_other_keys_or_of_another_pipeline_is_refused() -> None:
    app = pipeline()
    with pytest.raises(ConfigError, match="same key codec"):
        app.stream("a").merge(app.stream("c", key="int64"))
    with pytest.raises(ConfigError, match="streams of one pipeline"):
        app.stream("a").merge(pipeline().stream("b"))


def inputs_of(app: Pipeline, name: str) -> tuple[str, ...]:
    return app._topology.nodes[name].inputs


def test_merges_of_merges_are_one_and_a_stream_merged_with_itself_is_itself() -> None:
    app = pipeline()
    a, b, c = (app.stream(topic) for topic in "abc")
    assert c.merge(b).merge(a).node == app.stream("a", "b", "c").node
    assert a.merge(a) == a
    even = a.filter(lambda key, value: value % 2 == 0)
    assert inputs_of(app, even.merge(b).merge(even).node) == ("filter 1", "source b")


def test_ways_that_part_are_merged_in_the_order_of_their_declaration() -> None:
    app = pipeline()
    clicks = app.stream("clicks")
    first = clicks.filter(lambda key, value: value)
    second = clicks.filter(lambda key, value: not value)
    late = first.map_values(lambda value: value)
    assert inputs_of(app, second.merge(late).node) == ("map_values 1", "filter 2")
    assert inputs_of(app, clicks.merge(second).node) == ("filter 2", "source clicks")


def test_a_merge_goes_through_a_topic_if_one_of_its_streams_has_new_keys() -> None:
    app = pipeline()
    rekeyed = app.stream("a").select_key(lambda key, value: value)
    app.stream("b").merge(rekeyed).group_by_key().count("n")
    assert parts_of(app) == [["to shop-n-repartition"], ["n"]]


def test_a_node_that_leads_to_no_result_is_in_no_part() -> None:
    app = pipeline()
    clicks = app.stream("clicks")
    clicks.filter(lambda key, value: value)
    clicks.deduplicate("id", "seen", within="1m")
    clicks.group_by_key().count("n")
    (part,) = app._topology.parts()
    assert [node.name for node in part] == ["source clicks", "n"]


def test_a_codec_or_a_field_that_does_not_exist_is_refused_at_once() -> None:
    app = pipeline()
    with pytest.raises(ConfigError, match="not a codec"):
        app.stream("a", value="xml")
    with pytest.raises(ConfigError, match="is not a field"):
        app.stream("a").group_by_key().sum(3, "total")  # type: ignore[arg-type]


def test_retention_is_for_windows_only() -> None:
    with pytest.raises(ConfigError, match="only windows"):
        pipeline().stream("a").group_by_key().count("n", retention="6h")


def test_the_cluster_is_named_once() -> None:
    connection = pipeline().connection
    with pytest.raises(ConfigError, match="not both"):
        Pipeline("shop", bootstrap_servers="localhost:9092", connection=connection)
    with pytest.raises(ConfigError, match="no cluster is given"):
        Pipeline("shop").run()


def test_a_changelog_is_compacted_and_that_of_windows_expires_a_day_after_them() -> None:
    app = pipeline()
    grouped = app.stream("a").group_by_key()
    grouped.count("plain", changelog={"segment.bytes": 536870912, "preallocate": True})
    grouped.windowed_by(tumbling("60s")).count("windowed", retention="6h")
    app.stream("a").select_key(lambda key, value: value).group_by_key().count("again")
    found = {name: settings_of(topic) for name, topic in app._topology.own_topics.items()}
    assert found == {
        "shop-plain-changelog": {
            "cleanup.policy": "compact",
            "segment.bytes": "536870912",
            "preallocate": "true",
        },
        "shop-windowed-changelog": {
            "cleanup.policy": "compact,delete",
            "retention.ms": str(30 * 3_600_000),
        },
        "shop-again-changelog": {"cleanup.policy": "compact"},
        "shop-again-repartition": {"cleanup.policy": "delete", "retention.ms": "-1"},
    }


def test_the_metadata_of_several_sources_is_joined_by_what_is_furthest() -> None:
    old = encode_metadata(OffsetMetadata({"n": 5, "gone": 1}, {"n": 10}))
    new = encode_metadata(OffsetMetadata({"n": 9}, {"n": 12, "m": 3}))
    joined = OffsetMetadata({"n": 9, "gone": 1}, {"n": 12, "m": 3})
    assert join_metadata([old, "", new]) == join_metadata([new, old]) == joined
    assert join_metadata([]) == OffsetMetadata({}, {})
