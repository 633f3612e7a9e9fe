"""The pipeline: declares streams; ``run`` makes this process its driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lastword.cdc.envelope import ChangeCodec
from lastword.codecs.resolve import CodecSpec, key_codec, key_spec_for, sent_to_executors
from lastword.durations import Duration, milliseconds
from lastword.errors import ConfigError
from lastword.home import default_state_dir
from lastword.kafka.connection import Connection
from lastword.metrics import Metrics
from lastword.pipelines.api.changes import ChangeStream, committed_at
from lastword.pipelines.api.folds import Field, check_field
from lastword.pipelines.api.state import PipelineLife, PipelineState, PipelineStateListener
from lastword.pipelines.api.stream import Stream
from lastword.pipelines.graph.describe import as_mermaid, as_text, as_values
from lastword.pipelines.graph.node import SourcePlan
from lastword.pipelines.graph.own_topics import BROKERS_DEFAULT
from lastword.pipelines.graph.topology import Topology
from lastword.pipelines.run.driver import Driver, Mode, RunSettings
from lastword.pipelines.run.observer import BatchReport, Observer
from lastword.pipelines.run.rebuild import Rebuilt, rebuild
from lastword.spark.installed import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_COMMIT_INTERVALS: Mapping[Mode, Duration] = {"micro-batch": "1s", "real-time": "100ms"}
DEFAULT_MAX_RECORDS = 1_000_000


class Pipeline:
    """One application: its streams, their stores and changelogs, and its single driver.

    ``commit_interval`` is how often input is processed and committed; by default every second, or
    every 100 ms in real-time mode. ``replication`` is the replication factor of the topics that it
    creates; by default the brokers'. Without ``bootstrap_servers`` or ``connection``, pass the
    cluster to ``run``, as ``lastword pipeline run`` does.

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
        commit_interval: Duration | None = None,
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
        self._commit_interval = commit_interval
        if commit_interval is not None:
            _interval_ms(commit_interval)
        self._max_records = max_records_per_batch
        self._stop = threading.Event()
        self._life = PipelineLife()
        self._observer = Observer(application_id, self._life)

    @property
    def state(self) -> PipelineState:
        """The current state of the run."""
        return self._life.state

    @property
    def metrics(self) -> Metrics:
        """The metrics of all its runs in this process."""
        return self._observer.metrics

    @property
    def topics(self) -> frozenset[str]:
        """The topics that it writes, and creates if they are missing."""
        return frozenset(self._topology.own_topics)

    def stream(
        self,
        *topics: str,
        key: CodecSpec = "string",
        value: CodecSpec = "json",
        timestamp: Field | None = None,
    ) -> Stream:
        """The events of these topics, as one stream.

        ``timestamp`` says where to find the event time, in milliseconds since 1970: a field's name
        or a function of the value. Without it, the record's own timestamp is used.
        """
        if not topics:
            raise ConfigError("a stream needs at least one topic", hint="app.stream('events')")
        key_codec(key), sent_to_executors(value)  # raises here rather than on an executor
        where = None if timestamp is None else check_field(timestamp)
        sources = [self._topology.add_source(SourcePlan(topic, value, where)) for topic in topics]
        keys = key_spec_for(topics[0], key)
        return Stream(self._topology, self._topology.add_merge(sources), keys, value)

    def changes(self, topic: str) -> ChangeStream:
        """The changes of a database table, as Debezium writes them into ``topic``.

        The topic has one partition, so that changes come in the order of the database's log.
        """
        source = SourcePlan(topic, ChangeCodec(), committed_at, in_order=True)
        return ChangeStream(self._topology, self._topology.add_source(source))

    def describe(self, form: Literal["text", "mermaid"] = "text") -> str:
        """The topology: sources, operators, stores, and the topics that it writes.

        As text, or as a Mermaid flowchart that GitHub and many editors draw. Raises ConfigError
        for a pipeline that cannot run. Needs neither Spark nor Kafka.

        >>> app = Pipeline("shop")
        >>> _ = app.stream("clicks").group_by_key().count("per-user")
        >>> print(app.describe())
        pipeline shop
        <BLANKLINE>
        part 1, reads clicks
          source clicks
          per-user (count) <- source clicks
            store per-user, changelog shop-per-user-changelog
        <BLANKLINE>
        topics it writes
          shop-per-user-changelog (changelog)
          shop-quarantine (quarantine)
          shop-control (control)
        """
        return as_mermaid(self._topology) if form == "mermaid" else as_text(self._topology)

    @property
    def topology(self) -> dict[str, Any]:
        """The same as plain values: parts with their nodes and stores, and topics."""
        return as_values(self._topology)

    def run(
        self,
        spark: SparkSession | None = None,
        *,
        once: bool = False,
        mode: Mode = "micro-batch",
        commit_interval: Duration | None = None,
        connection: Connection | None = None,
        state_dir: str | Path | None = None,
        on_batch: Callable[[BatchReport], None] = lambda _: None,
        on_state: PipelineStateListener | None = None,
    ) -> None:
        """Process events until ``stop``; with ``once``, up to the end of the topics as of now.

        In the ``mode`` "real-time", Spark runs long tasks that read their partitions themselves and
        commit every ``commit_interval``, which overrides the pipeline's own. Results, positions and
        stores are the same as in "micro-batch", so the next run may use the other mode.

        Runs on ``spark``, else on the running session, else on a local session that it creates and
        stops at the end. ``connection`` overrides the pipeline's own; the pipeline's ``state_dir``
        overrides the one given here. ``on_batch`` is called with the report of each batch,
        ``on_state`` on each change of ``state``.

        Raises FencedError when another driver of this application runs or has taken over, and
        PipelineError when it cannot continue.
        """
        driver = self._driver(
            connection,
            state_dir=state_dir,
            once=once,
            mode=_known(mode),
            commit_interval=commit_interval,
        )
        self._life.listener, self._observer.on_batch = on_state, on_batch
        self._life.move(PipelineState.STARTING)
        try:
            with ExitStack() as opened:
                if spark is None:
                    require_spark()
                    # Imports PySpark, which is not needed to declare a pipeline.
                    from lastword.spark.session import session_for  # noqa: PLC0415

                    spark = opened.enter_context(session_for(self.application_id))
                driver.run(spark, self._stop)
        except BaseException:
            self._life.move(PipelineState.ERROR)
            raise
        finally:
            self._stop.clear()
        self._life.move(PipelineState.STOPPED)

    def create_topics(self, connection: Connection | None = None) -> None:
        """Create the topics that it writes, as ``run`` does first; the sources must exist.

        Use it to open a table on a result before the pipeline runs. Needs no Spark.
        """
        self._driver(connection).create_topics()

    def rebuild(
        self, store: str, spark: SparkSession | None = None, *, connection: Connection | None = None
    ) -> Rebuilt:
        """Recompute a store from all its events, and compare it with its current rows.

        Reads up to the committed positions and writes nothing. Raises PipelineError if events have
        been deleted, and ConfigError for a store that depends on more than its events.
        """
        cluster = self._cluster(connection)
        with ExitStack() as opened:
            if spark is None:
                require_spark()
                # Imports PySpark, which is not needed to declare a pipeline.
                from lastword.spark.session import session_for  # noqa: PLC0415

                spark = opened.enter_context(session_for(self.application_id))
            return rebuild(spark, self._topology, cluster, store)

    def stop(self) -> None:
        """Make ``run`` return; the next run processes what is not committed by then.

        Callable from any thread.
        """
        self._stop.set()

    def _cluster(self, connection: Connection | None) -> Connection:
        connection = connection or self.connection
        if connection is None:
            raise ConfigError(
                f"no cluster is given for {self.application_id!r}",
                hint="Pipeline('my-app', bootstrap_servers='localhost:9092')",
            )
        return connection

    def _driver(
        self,
        connection: Connection | None,
        *,
        state_dir: str | Path | None = None,
        once: bool = False,
        mode: Mode = "micro-batch",
        commit_interval: Duration | None = None,
    ) -> Driver:
        intervals = (commit_interval, self._commit_interval, DEFAULT_COMMIT_INTERVALS[mode])
        interval = next(each for each in intervals if each is not None)
        settings = RunSettings(
            connection=self._cluster(connection),
            state_dir=Path(self._state_dir or state_dir or default_state_dir()),
            replication=self._replication,
            commit_interval_ms=_interval_ms(interval),
            max_records_per_batch=self._max_records,
            once=once,
            mode=mode,
            observer=self._observer,
        )
        return Driver(self._topology, settings, self._life)


def _interval_ms(interval: Duration) -> int:
    return milliseconds(interval, what="the commit interval")


def _known(mode: Mode) -> Mode:
    if mode not in DEFAULT_COMMIT_INTERVALS:
        raise ConfigError(
            f"{mode!r} is not a mode of a pipeline",
            hint=f"choose {' or '.join(DEFAULT_COMMIT_INTERVALS)}",
        )
    return mode
