"""Registers the schema of keys for the topics that a pipeline writes.

A pipeline writes keys as it has read them. Whoever looks up one of them encodes it under the
subject of the new topic, which must have the same schema.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol, runtime_checkable

from lastword.codecs.base import Context, KeyCodec
from lastword.codecs.windowed import InWindows
from lastword.errors import ConfigError, EncodeError, RegistryError

log = logging.getLogger(__name__)


@runtime_checkable
class RegisteredKeys(Protocol):
    """A codec whose schema has a subject for each topic."""

    def register_for(self, context: Context) -> None:
        """Register the schema that writes here for another topic, too, if that is allowed."""


def register_keys(codec: KeyCodec[Any], topic: str) -> None:
    """Have keys of ``codec`` found in ``topic``. Logs what prevents it: the keys can be read."""
    inner = codec.inner if isinstance(codec, InWindows) else codec
    if not isinstance(inner, RegisteredKeys):
        return
    try:
        inner.register_for(Context(topic, "key"))
    except (ConfigError, EncodeError, RegistryError) as error:
        log.warning("%s: look-ups by key need the schema of the keys there: %s", topic, error)
