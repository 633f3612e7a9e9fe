"""Folds that make tombstones, each with the same as a plain step for the models."""

from __future__ import annotations

from typing import Any

from lastword.pipelines.api.folds import Aggregate, Count, Fold, Latest, Reduce


def total_or_gone(old: int | None, value: int | None) -> int | None:
    """A sum that is forgotten at seven: makes tombstones."""
    if value == 7 or value is None:
        return None
    return value if old is None else old + value


FOLDS: dict[str, tuple[Fold, Any, bool]] = {
    "count": (Count(), lambda old, _: (old or 0) + 1, False),
    "reduce": (
        Reduce(total_or_gone),
        lambda old, value: value if old is None else total_or_gone(old, value),
        False,
    ),
    "aggregate": (
        Aggregate(
            lambda: 0,
            lambda _, value, total: total_or_gone(total, value),
            lambda _, earlier, later: earlier + later,
        ),
        lambda old, value: total_or_gone(old or 0, value),
        False,
    ),
    "latest": (Latest(), lambda _, value: value, True),
}


def reduced(values: list[int]) -> int | None:
    """What a reduction makes of the values of several sessions."""
    merged: int | None = None
    for value in values:
        merged = value if merged is None else total_or_gone(merged, value)
    return merged


MERGES: dict[str, Any] = {
    "count": sum,
    "reduce": reduced,
    "aggregate": sum,
    "latest": lambda values: values[-1] if values else None,
}
"""What several sessions come to when they are merged, by the name of the fold."""
