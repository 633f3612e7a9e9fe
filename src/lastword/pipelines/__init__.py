"""Data pipelines on Spark: streams of events, computed per key into compacted changelog topics."""

from __future__ import annotations

from lastword.codecs.null import NULL
from lastword.pipelines.observer import BatchReport
from lastword.pipelines.past_frame import past_frame
from lastword.pipelines.pipeline import Pipeline
from lastword.pipelines.rebuild import Rebuilt
from lastword.pipelines.state import PipelineState
from lastword.pipelines.windows import hopping, session, tumbling

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
