"""The pipeline: streams are declared on it, and ``run`` makes this process its driver."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from lastword.broker.home import default_home
from lastword.codecs.resolve import CodecSpec, codec, key_codec
from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.pipelines.driver import Driver, RunSettings
from lastword.pipelines.durations import Duration, milliseconds
from lastword.pipelines.folds import Field, check_field
from lastword.pipelines.own_topics import BROKERS_DEFAULT
from lastword.pipelines.plan import SourcePlan
from lastword.pipelines.query import BatchReport
from lastword.pipelines.rebuild import Rebuilt, rebuild
from lastword.pipelines.stream import Stream
from lastword.pipelines.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_COMMIT_INTERVAL = "1s"
DEFAULT_MAX_RECORDS = 500_000


class Pipeline:
    """One application: its streams, their stores and changelogs, and its single driver.

    ``commit_interval`` is how often what came is processed and committed, ``replication`` that
    of the topics it creates (the brokers' default unless given). Without ``bootstrap_servers``
    or ``connection``, ``run`` is told the cluster, as ``lastword pipeline run`` does.

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
        replication: int = BROKERS_DEFAULT,
        commit_interval: Duration = DEFAULT_COMMIT_INTERVAL,
        max_records_per_batch: int = DEFAULT_MAX_RECORDS,
    ) -> None:
        if connection is not None and bootstrap_servers is not None:
            raise ConfigError(
                "a pipeline takes bootstrap_servers or connection, not both",
                hint="name the brokers in the connection",
            )
        if bootstrap_servers is not None:
            connection = Connection(bootstrap_servers=bootstrap_servers)
        self.application_id = application_id
        self.connection = connection
        self._topology = Topology(application_id)
        self._state_dir = state_dir
        self._replication = replication
        self._commit_interval_ms = milliseconds(commit_interval, what="the commit interval")
        self._max_records = max_records_per_batch
        self._stop = threading.Event()

    def stream(
        self,
        *topics: str,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        timestamp: Field | None = None,
    ) -> Stream:
        """The events of these topics, as one stream.

        ``timestamp`` is where event time is, in milliseconds since 1970: the name of a field or
        a function of the value; without it, the record's own timestamp.
        """
        if not topics:
            raise ConfigError("a stream needs at least one topic", hint="app.stream('events')")
        key_codec(key), codec(value)  # refused here rather than on an executor
        where = None if timestamp is None else check_field(timestamp)
        for topic in topics:
            self._topology.add_source(SourcePlan(topic, value, where))
        return Stream(self._topology, frozenset(topics), key, value)

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        once: bool = False,
        connection: Connection | None = None,
        state_dir: str | Path | None = None,
        on_batch: Callable[[BatchReport], None] = lambda _: None,
    ) -> None:
        """Process until ``stop``, or with ``once`` until what is there now is done.

        Runs on ``spark``, else on the active session, else on one built here on this machine and
        stopped at the end. ``connection`` goes over the pipeline's own; its own ``state_dir``
        goes over the one given here. ``on_batch`` hears what each batch came to.

        Raises FencedError when another driver of this application runs or has taken over,
        PipelineError when it cannot go on.
        """
        connection = connection or self.connection
        if connection is None:
            raise ConfigError(
                f"{self.application_id!r} does not know its cluster",
                hint="Pipeline('my-app', bootstrap_servers='localhost:9092')",
            )
        settings = RunSettings(
            connection=connection,
            state_dir=Path(self._state_dir or state_dir or default_home({}) / "state"),
            replication=self._replication,
            commit_interval_ms=self._commit_interval_ms,
            max_records_per_batch=self._max_records,
            once=once,
            on_batch=on_batch,
        )
        with ExitStack() as opened:
            if spark is None:
                # Loads PySpark, which declaring a pipeline does not need.
                from lastword.pipelines.spark_session import session_for  # noqa: PLC0415

                spark = opened.enter_context(session_for(self.application_id))
            try:
                Driver(self._topology, spark, settings).run(self._stop)
            finally:
                self._stop.clear()

    def rebuild(
        self, store: str, spark: SparkSession | None = None, *, connection: Connection | None = None
    ) -> Rebuilt:
        """Derive a store anew from all of its events, and compare with what is there.

        Reads up to the committed positions and writes nothing. Raises PipelineError when events
        are gone, ConfigError for a store that its events alone do not decide.
        """
        connection = connection or self.connection
        if connection is None:
            raise ConfigError(
                f"{self.application_id!r} does not know its cluster",
                hint="Pipeline('my-app', bootstrap_servers='localhost:9092')",
            )
        with ExitStack() as opened:
            if spark is None:
                # Loads PySpark, which declaring a pipeline does not need.
                from lastword.pipelines.spark_session import session_for  # noqa: PLC0415

                spark = opened.enter_context(session_for(self.application_id))
            return rebuild(spark, self._topology, connection, store)

    def stop(self) -> None:
        """Have ``run`` return; what is not committed by then, the next run does.

        Callable from any thread.
        """
        self._stop.set()
