"""What ``lastword up`` runs on Spark beside the tables: pipelines and snapshots, on one session."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from lastword.cli.settings.demo import demo_pipeline
from lastword.cli.settings.snapshot_locations import snapshot_root
from lastword.cli.support.app_context import AppContext
from lastword.cli.support.pipeline_batches import print_batch
from lastword.cli.support.pipeline_target import load_pipeline, mode_of
from lastword.cli.support.progress_bar import announcement
from lastword.cli.support.up_snapshots import ContinuousSnapshots
from lastword.errors import LastwordError
from lastword.pipelines import Pipeline, PipelineState
from lastword.spark.installed import require_spark, spark_is_installed
from lastword.spark.slots import slots_of


def pipelines_of(app: AppContext) -> list[Pipeline]:
    """The pipelines of the settings; the demo's if the settings name nothing to run.

    Raises ConfigError without Spark if the settings need it.
    """
    if app.settings.captures:
        require_spark()
    if named := app.settings.free.get("pipelines"):
        require_spark()
        return [load_pipeline(target) for target in named.values()]
    if app.settings.tables or app.settings.captures:
        return []
    if not spark_is_installed():
        app.output.info(
            "Spark is not installed here, so the demo runs without its pipeline: "
            "pip install 'lastword[spark]'"
        )
        return []
    return [demo_pipeline()]


class SparkRunner:
    """Starts Spark and runs everything on threads, so that the rest of ``up`` need not wait.

    A failed one is reported at once, and the others run on; ``raise_failure`` is for the end.
    """

    def __init__(
        self,
        app: AppContext,
        pipelines: Sequence[Pipeline],
        snapshots: Sequence[ContinuousSnapshots] = (),
    ) -> None:
        self._app = app
        self._pipelines = pipelines
        self._snapshots = snapshots
        self._stopping = False
        self._background = ThreadPoolExecutor(1, "spark")
        self._run: Future[None] | None = None

    def start(self) -> None:
        """Returns at once; a line says when a pipeline runs."""
        names = [pipeline.application_id for pipeline in self._pipelines]
        names += [f"snapshots of {each.name}" for each in self._snapshots]
        if names:
            what = ", ".join(names)
            self._app.output.info(f"starting Spark for {what}, which takes some seconds")
            self._run = self._background.submit(self._run_all)

    def stop(self) -> None:
        """Stop everything and Spark; the next run repeats what is not committed."""
        self._stopping = True
        for snapshots in self._snapshots:
            snapshots.stop()
        for pipeline in self._pipelines:
            pipeline.stop()
        self._background.shutdown()

    def raise_failure(self) -> None:
        """Raise what ended a pipeline, if something did; call it after ``stop``."""
        if self._run is not None:
            self._run.result()

    def _run_all(self) -> None:
        # Loads PySpark, which only pipelines need.
        from lastword.spark.session import local_master, session_for

        report = announcement(self._app.output, "fetching Spark's Kafka jars (once)")
        delta_at = snapshot_root(self._app) if self._snapshots else None
        users = len(self._pipelines) + len(self._snapshots)
        master = local_master(users if mode_of(self._app) == "real-time" else 1)
        with session_for(
            "lastword-up", home=self._app.home, master=master, delta_at=delta_at, progress=report
        ) as spark:
            with (
                slots_of(spark).used_by(len(self._snapshots)),
                ThreadPoolExecutor(users, "spark") as pool,
            ):
                runs = [pool.submit(self._run_one, spark, each) for each in self._pipelines]
                runs += [pool.submit(each.run, spark) for each in self._snapshots]
            for run in runs:
                run.result()

    def _run_one(self, spark: Any, pipeline: Pipeline) -> None:
        if self._stopping:
            return
        try:
            pipeline.run(
                spark,
                mode=mode_of(self._app),
                connection=self._app.connection,
                state_dir=self._app.state_dir,
                on_batch=lambda batch: print_batch(self._app, batch),
                on_state=lambda _, new: self._tell(pipeline, new),
            )
        except LastwordError as error:
            self._app.output.info(f"{pipeline.application_id} ended: {error}")
            raise

    def _tell(self, pipeline: Pipeline, state: PipelineState) -> None:
        if state in {PipelineState.RUNNING, PipelineState.ERROR}:
            name, mode = pipeline.application_id, mode_of(self._app)
            self._app.output.line(
                f"pipeline {name} is {state} in {mode} mode",
                {"pipeline": name, "state": state.value, "mode": mode},
            )
