"""The options of every store of a pipeline, and the changelog topic that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from lastword.codecs.resolve import CodecSpec
from lastword.durations import Duration
from lastword.pipelines.graph.topology import OwnTopic, Topology

Settings = Mapping[str, str | int | float]
NO_SETTINGS: Settings = {}


class Options(TypedDict, total=False):
    """The options of every computation.

    changelog   settings of the changelog topic, or None for a store without one
    value       the codec of the result, if its default does not fit
    retention   how long windows are kept after their end; a day by default
    cache       False writes every update to the changelog instead of one per key and batch;
                the final value is the same
    """

    changelog: Settings | None
    value: CodecSpec
    retention: Duration
    cache: bool


def changelog_of(
    topology: Topology, store: str, settings: Settings | None, retention_ms: int | None = None
) -> str | None:
    """The changelog topic of a store, or None if it has none."""
    topic = topology.topic_of(store, "changelog")
    if settings is None:
        return None
    topology.add_own_topic(OwnTopic(topic, "changelog", as_settings(settings), retention_ms))
    return topic


def as_settings(settings: Settings) -> dict[str, str]:
    """Topic settings as strings, in Kafka's format.

    >>> as_settings({"min.cleanable.dirty.ratio": 0.3, "preallocate": True})
    {'min.cleanable.dirty.ratio': '0.3', 'preallocate': 'true'}
    """
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in settings.items()
    }
