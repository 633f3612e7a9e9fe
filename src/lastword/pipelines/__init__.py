"""Pipelines on Spark: aggregate streams of events per key into compacted changelog topics."""

from __future__ import annotations

from lastword.codecs.null import NULL
from lastword.pipelines.api.pipeline import Pipeline
from lastword.pipelines.api.state import PipelineState
from lastword.pipelines.api.windows import hopping, session, tumbling
from lastword.pipelines.run.observer import BatchReport
from lastword.pipelines.run.rebuild import Rebuilt
from lastword.snapshots.jobs.past_frame import past_frame

__all__ = [
    "NULL",
    "BatchReport",
    "Pipeline",
    "PipelineState",
    "Rebuilt",
    "hopping",
    "past_frame",
    "session",
    "tumbling",
]
