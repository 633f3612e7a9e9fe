"""The status of each partition of a table, for its status page, metrics and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lastword.replicas.progress import RestoreProgress
from lastword.replicas.replica_set import ReplicaSet


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition that is held here, at one moment.

    ``position`` is the offset after the last record that reads reflect. ``log_start``, ``log_end``
    and ``stable_end`` are those of the last topic state; an open transaction holds the last one
    back. ``lag`` is the number of offsets to ``log_end``, ``lag_s`` how long it has been above 0.

    ``ready`` says whether reads are served, ``live`` whether the end of the log was reached: a
    first sweep may lie between the two. ``stale`` and ``contact_age_s`` are as in an Answer.
    ``trouble`` is why the partition is not followed at the moment, None when it is.
    """

    partition: int
    position: int
    log_start: int
    log_end: int
    stable_end: int
    lag: int
    lag_s: float
    ready: bool
    live: bool
    stale: bool
    contact_age_s: float
    trouble: str | None
    quarantined: int
    keys: int
    store_bytes: int
    store_stats: Mapping[str, float]
    restore: RestoreProgress


def views_of(replicas: ReplicaSet, now_ms: int) -> list[PartitionView]:
    """Every partition held, in their order. The first count of a RocksDB store walks through it."""
    topic_state, lags = replicas.topic_state, replicas.lag()
    progress = {each.partition: each for each in replicas.progress()}
    views = []
    for partition, replica in replicas.held.items():
        if partition not in lags or partition not in progress:
            continue  # it came in between
        lag = lags[partition]
        stale, contact_age_s = replica.freshness
        behind_ms = max(0, now_ms - replica.at_end_ms) if lag else 0
        views.append(
            PartitionView(
                partition=partition,
                position=replica.position,
                log_start=topic_state.starts[partition],
                log_end=topic_state.ends[partition],
                stable_end=topic_state.stable_ends[partition],
                lag=lag,
                lag_s=behind_ms / 1000,
                ready=replica.ready,
                live=replica.live,
                stale=stale,
                contact_age_s=contact_age_s,
                trouble=replicas.troubles.of(partition),
                quarantined=len(replica.quarantine),
                keys=replica.count(),
                store_bytes=replica.store.size_bytes(),
                store_stats=replica.store.stats(),
                restore=progress[partition],
            )
        )
    return views
