"""Bytes to Python values and back.

``codec`` and ``key_codec`` make a codec from a name or a type; ``composite``, ``windowed`` and
``session`` make codecs for keys of several parts.
"""

from lastword.codecs.base import Codec, Column, Context, KeyCodec, prefix_bounds
from lastword.codecs.composite import CompositeCodec, StartsWith, composite
from lastword.codecs.defaults import ValueCodec, WholeKey
from lastword.codecs.evolution import upgrade
from lastword.codecs.resolve import CODEC_NAMES, CodecSpec, codec, key_codec
from lastword.codecs.typed import TypedCodec
from lastword.codecs.windowed import (
    SessionCodec,
    SessionKey,
    WindowedCodec,
    WindowedKey,
    session,
    windowed,
)

__all__ = [
    "CODEC_NAMES",
    "Codec",
    "CodecSpec",
    "Column",
    "CompositeCodec",
    "Context",
    "KeyCodec",
    "SessionCodec",
    "SessionKey",
    "StartsWith",
    "TypedCodec",
    "ValueCodec",
    "WholeKey",
    "WindowedCodec",
    "WindowedKey",
    "codec",
    "composite",
    "key_codec",
    "prefix_bounds",
    "session",
    "upgrade",
    "windowed",
]
