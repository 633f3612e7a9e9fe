"""Operators without state: each takes a batch of events and returns one.

A record for which the user's function fails is quarantined and dropped; the others continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lastword.codecs.resolve import CodecSpec, key_codec
from lastword.pipelines.api.null_values import Values
from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext


@dataclass(frozen=True)
class Filter:
    """Keeps the events for which ``predicate(key, value)`` holds."""

    predicate: Callable[[Any, Any], Any]
    key: CodecSpec

    def __call__(self, events: Events, context: BatchContext) -> Events:
        """The events that remain."""
        decode = key_codec(self.key).decode

        def keeps(i: int) -> bool:
            key = events.keys[i]
            return bool(self.predicate(None if key is None else decode(key), events.values[i]))

        kept = _each(events, context, keeps)
        return events.take([i for i, keep in kept if keep])


@dataclass(frozen=True)
class MapValues:
    """Replaces each value by ``function(value)``; keys and partitions do not change."""

    function: Callable[[Any], Any]

    def __call__(self, events: Events, context: BatchContext) -> Events:
        """The same events with new values."""
        mapped = _each(events, context, lambda i: self.function(events.values[i]))
        taken = events if len(mapped) == len(events) else events.take([i for i, _ in mapped])
        return replace(taken, values=[value for _, value in mapped])


@dataclass(frozen=True)
class WithHeaders:
    """Replaces each value by ``function(value, headers)``."""

    function: Callable[[Any, Mapping[str, bytes | None]], Any]

    def __call__(self, events: Events, context: BatchContext) -> Events:
        """The same events with new values."""
        mapped = _each(
            events, context, lambda i: self.function(events.values[i], events.headers[i])
        )
        taken = events if len(mapped) == len(events) else events.take([i for i, _ in mapped])
        return replace(taken, values=[value for _, value in mapped])


@dataclass(frozen=True)
class SelectKey:
    """Replaces each key by ``function(key, value)``; later grouping needs a repartition topic.

    An event whose new key is None has no key: an operator that needs one counts and drops it.
    """

    function: Callable[[Any, Any], Any]
    key: CodecSpec

    def __call__(self, events: Events, context: BatchContext) -> Events:
        """The same events with new keys."""
        coder = key_codec(self.key)

        def rekey(i: int) -> bytes | None:
            old = events.keys[i]
            new = self.function(None if old is None else coder.decode(old), events.values[i])
            return None if new is None else coder.encode(new)

        rekeyed = _each(events, context, rekey)
        taken = events if len(rekeyed) == len(events) else events.take([i for i, _ in rekeyed])
        return replace(taken, keys=[key for _, key in rekeyed])


@dataclass(frozen=True)
class EncodeValues:
    """Encodes values for a topic; None stays a tombstone, and NULL becomes a null."""

    value: CodecSpec

    def __call__(self, events: Events, context: BatchContext) -> Events:
        """The same events with raw values."""
        encode = Values(self.value).encode

        def raw(i: int) -> bytes | None:
            value = events.values[i]
            return None if value is None else encode(value)

        encoded = _each(events, context, raw)
        taken = events if len(encoded) == len(events) else events.take([i for i, _ in encoded])
        return replace(taken, values=[value for _, value in encoded])


def _each(
    events: Events, context: BatchContext, function: Callable[[int], Any]
) -> list[tuple[int, Any]]:
    """The results by index; if the user's function fails, the record is quarantined."""
    results: list[tuple[int, Any]] = []
    for i in range(len(events)):
        try:
            results.append((i, function(i)))
        except Exception as error:  # noqa: BLE001 - the user's function
            context.quarantine(events, i, error)
    return results
