"""The pipeline: streams are declared on it, and ``run`` makes this process its driver."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from lastword.codecs.resolve import CodecSpec
from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.pipelines.driver import Driver, RunSettings
from lastword.pipelines.durations import Duration, milliseconds
from lastword.pipelines.events import Tally
from lastword.pipelines.plan import SourcePlan
from lastword.pipelines.stream import Stream
from lastword.pipelines.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_COMMIT_INTERVAL = "1s"
DEFAULT_MAX_RECORDS = 500_000


class Pipeline:
    """One application: its streams, their stores and changelogs, and its single driver.

    >>> app = Pipeline("shop", bootstrap_servers="localhost:9092")
    >>> clicks = app.stream("clicks").group_by_key().count("clicks-per-user")
    >>> clicks.topic
    'shop-clicks-per-user-changelog'
    """

    def __init__(
        self,
        application_id: str,
        *,
        bootstrap_servers: str | None = None,
        connection: Connection | None = None,
        state_dir: str | Path | None = None,
        replication: int = 1,
        commit_interval: Duration = DEFAULT_COMMIT_INTERVAL,
        max_records_per_batch: int = DEFAULT_MAX_RECORDS,
    ) -> None:
        if (connection is None) == (bootstrap_servers is None):
            raise ConfigError(
                "a pipeline needs either bootstrap_servers or connection",
                hint="Pipeline('my-app', bootstrap_servers='localhost:9092')",
            )
        default = Path(platformdirs.user_data_dir("lastword", appauthor=False)) / "state"
        self.application_id = application_id
        self._connection = connection or Connection(bootstrap_servers=bootstrap_servers or "")
        self._topology = Topology(application_id)
        self._state_dir = default if state_dir is None else Path(state_dir)
        self._replication = replication
        self._commit_interval_ms = milliseconds(commit_interval, what="the commit interval")
        self._max_records = max_records_per_batch
        self._stop = threading.Event()

    def stream(
        self,
        *topics: str,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        timestamp: str | Callable[[Any], int] | None = None,
    ) -> Stream:
        """The events of these topics, as one stream.

        ``timestamp`` is where event time is, in milliseconds since 1970: the name of a field or
        a function of the value; without it, the record's own timestamp.
        """
        if not topics:
            raise ConfigError("a stream needs at least one topic", hint="app.stream('events')")
        extract = operator.itemgetter(timestamp) if isinstance(timestamp, str) else timestamp
        for topic in topics:
            self._topology.add_source(SourcePlan(topic, key, value, extract))
        return Stream(self._topology, frozenset(topics), key)

    def run(
        self,
        spark: SparkSession,
        *,
        once: bool = False,
        on_batch: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        """Process until ``stop``, or with ``once`` until what is there now is done.

        ``on_batch`` hears what each batch came to. Raises FencedError when another driver of this
        application runs, or has taken over.
        """
        settings = RunSettings(
            connection=self._connection,
            state_dir=self._state_dir,
            replication=self._replication,
            commit_interval_ms=self._commit_interval_ms,
            max_records_per_batch=self._max_records,
            once=once,
            on_batch=on_batch,
        )
        Driver(self._topology, spark, settings).run(self._stop)

    def stop(self) -> None:
        """Have ``run`` return after the batch under way; callable from any thread."""
        self._stop.set()
