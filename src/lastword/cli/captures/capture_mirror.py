"""The pipeline that keeps the table of a capture."""

from __future__ import annotations

from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.pipelines import Pipeline

_BATCH_RECORDS = 50_000
"""Progress is known after each batch; so many rows take Debezium some seconds."""


def mirror_of(spec: CaptureSpec) -> Pipeline:
    """Its application id is the name of the connector; its table has the name of the capture."""
    app = Pipeline(spec.source.connector, max_records_per_batch=_BATCH_RECORDS)
    changes = app.changes(spec.source.topic)
    if spec.filter is not None:
        changes = changes.filter(spec.filter)
    if spec.kept_columns is not None:
        changes = changes.map_values(spec.kept_columns)
    changes.to_table(spec.name, transactions=spec.transactions)
    return app


def mirror_store(spec: CaptureSpec) -> str:
    """The store with the whole rows."""
    return spec.name if spec.shape == (None, None) else f"{spec.name}-rows"
