"""The result of a pipeline's batch as one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.sizes import as_size

if TYPE_CHECKING:
    from lastword.pipelines import BatchReport

# The counts that are printed if they are not 0.
_TROUBLE = {
    "late": "late",
    "duplicates": "duplicates",
    "unmatched": "without a row to join",
    "keyless": "without a key",
    "null_values": "without a value",
    "quarantined": "quarantined",
    "skipped": "committed before",
    "held_back": "windows held back",
    "evicted": "evicted",
    "restored": "restored from a changelog",
}


def print_batch(app: AppContext, batch: BatchReport) -> None:
    """One line for each batch that had records."""
    tally = batch.tally
    if not (tally.records or tally.skipped):
        return
    rate = tally.records / batch.seconds if batch.seconds else 0.0
    left_out = [
        f"{getattr(tally, name):,} {words}{_by_store(batch, name)}"
        for name, words in _TROUBLE.items()
        if getattr(tally, name)
    ]
    line = (
        f"{batch.stream}: {tally.records:,} records in {batch.seconds:.1f} s "
        f"({rate:,.0f}/s), {tally.updates:,} updates"
    )
    app.output.line(
        "; ".join([line, *_whereabouts(batch), *left_out]),
        {
            "sources": batch.sources,
            "seconds": round(batch.seconds, 3),
            **asdict(tally),
            "lag": batch.lag,
            "stores": {
                name: {"rows": size.rows, "bytes": size.bytes}
                for name, size in batch.stores.items()
            },
            "by_store": {name: asdict(counted) for name, counted in batch.by_store.items()},
        },
    )


def _by_store(batch: BatchReport, name: str) -> str:
    """Which stores a count is of, where there are several."""
    counts = {store: getattr(tally, name) for store, tally in batch.by_store.items()}
    parts = [f"{store} {count:,}" for store, count in counts.items() if count]
    return f" ({', '.join(parts)})" if parts and len(counts) > 1 else ""


def _whereabouts(batch: BatchReport) -> Iterator[str]:
    if batch.lag is not None:
        yield f"{batch.lag:,} to come"
    for name, size in batch.stores.items():
        yield f"{name} has {size.rows:,} rows, {as_size(size.bytes)}"
