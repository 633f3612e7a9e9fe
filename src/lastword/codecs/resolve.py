"""Turns what a user passes (``"json"``, a Struct class, a codec) into a codec."""

from __future__ import annotations

from typing import Any

from lastword.codecs.base import Codec, Context, KeyCodec
from lastword.codecs.plain import BytesCodec, Int64Codec, StringCodec
from lastword.codecs.row import RowCodec
from lastword.codecs.structured import StructuredCodec
from lastword.codecs.typed import TypedCodec
from lastword.codecs.value_types import is_value_type, require_importable
from lastword.errors import ConfigError

CodecSpec = str | Codec[Any] | type[Any]

_PLAIN: dict[str, KeyCodec[Any]] = {
    "string": StringCodec(),
    "bytes": BytesCodec(),
    "int64": Int64Codec(),
}
_VALUES: dict[str, Codec[Any]] = {
    **_PLAIN,
    "json": StructuredCodec("json"),
    "msgpack": StructuredCodec("msgpack"),
    "row": RowCodec(),
}
_KEYS: dict[str, KeyCodec[Any]] = {
    **_PLAIN,
    "json": StructuredCodec("json", deterministic=True),
    "msgpack": StructuredCodec("msgpack", deterministic=True),
}
CODEC_NAMES = tuple(_VALUES)


def codec(spec: CodecSpec) -> Codec[Any]:
    """The codec for values: by name, for a class (as JSON), or the codec that was passed."""
    if isinstance(spec, str):
        if spec in _VALUES:
            return _VALUES[spec]
    elif isinstance(spec, type):
        if is_value_type(spec):
            return TypedCodec("json", spec)
    elif isinstance(spec, Codec):
        return spec
    raise _not_a_codec(spec)


def key_codec(spec: CodecSpec) -> KeyCodec[Any]:
    """The codec for keys: like ``codec``, but equal keys always have equal bytes."""
    if isinstance(spec, str) and spec in _KEYS:
        return _KEYS[spec]
    chosen = codec(spec)
    if isinstance(chosen, KeyCodec):
        return chosen
    raise ConfigError(
        f"the codec {chosen.name} cannot be used for keys",
        hint="derive it from lastword.codecs.WholeKey",
    )


def codecs_for(topic: str, key: CodecSpec, value: CodecSpec) -> tuple[KeyCodec[Any], Codec[Any]]:
    """The codecs of the keys and the values of one topic, bound to it."""
    return (
        key_codec(key).bound(Context(topic, "key")),
        codec(value).bound(Context(topic, "value")),
    )


def sent_to_executors(spec: CodecSpec) -> CodecSpec:
    """The same, if Spark's executors can import its class; raises ConfigError."""
    kind = spec if isinstance(spec, type) else getattr(codec(spec), "type", None)
    if isinstance(kind, type):
        require_importable(kind)
    return spec


def value_spec_for(topic: str, spec: CodecSpec) -> CodecSpec:
    """What was passed as codec of a topic's values, bound to the topic if it is a codec object.

    Names and classes mean the same for every topic, and stay as they are.
    """
    if isinstance(sent_to_executors(spec), str | type):
        return spec
    return codec(spec).bound(Context(topic, "value"))


def key_spec_for(topic: str, spec: CodecSpec) -> CodecSpec:
    """The same for the codec of a topic's keys."""
    if isinstance(sent_to_executors(spec), str | type):
        return spec
    return key_codec(spec).bound(Context(topic, "key"))


def _not_a_codec(spec: object) -> ConfigError:
    return ConfigError(
        f"{spec!r} is not a codec",
        hint=f"use one of {', '.join(CODEC_NAMES)}, a msgspec Struct, a dataclass, a "
        "pydantic model, or a codec derived from lastword.codecs.ValueCodec",
    )
