"""Snapshots that ``lastword up`` takes of the tables that ask for them in ``lastword.toml``."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.table_options import table_spec
from lastword.cli.support.up_pipelines import SparkRunner
from lastword.cli.support.up_snapshots import snapshots_of
from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.snapshots.catalog.snapshot_catalog import Catalog
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.on_spark.snapshots import rows_of

SETTINGS = """
[connection]
bootstrap_servers = "{servers}"

[snapshots]
location = "{root}"

[tables.profiles]
topic = "{topic}"
snapshot_every = "200ms"

[tables.never]
"""


def test_a_table_with_an_interval_is_snapshotted_again_and_again(
    spark: SparkSession, connection: Connection, topic_name: str, tmp_path: Path
) -> None:
    topic = RealTopic(connection, topic_name).create()
    topic.produce((b"a", b"1"), (b"b", b"1"))
    app = AppContext()
    app.config_file = tmp_path / "lastword.toml"
    servers, root = connection.bootstrap_servers, tmp_path / "snapshots"
    text = SETTINGS.format(servers=servers, root=root, topic=topic_name)
    app.config_file.write_text(text)
    location = Location(str(root), topic_name)

    snapshots = snapshots_of(app, [table_spec(app, name) for name in app.settings.tables])
    assert [each.name for each in snapshots] == ["profiles"]
    runner = SparkRunner(app, [], snapshots)
    runner.start()
    try:
        wait_until(
            lambda: Catalog(location.snapshots).newest() is not None, "a snapshot", timeout=180
        )
        topic.produce((b"a", b"2"), (b"b", None))
        wait_until(lambda: rows_of(location) == {b"a": b"2"}, "the change", timeout=180)
    finally:
        runner.stop()
    runner.raise_failure()
    kinds = [each.metadata.kind for each in Catalog(location.snapshots).snapshots()]
    assert kinds[-1] == "full" and set(kinds[:-1]) == {"incremental"}
