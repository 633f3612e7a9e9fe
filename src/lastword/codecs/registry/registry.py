"""A registry by its URL: makes codecs that use its schemas."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from lastword.codecs.registry.client import RegistryClient, RegistrySettings
from lastword.codecs.registry.known_schemas import KnownSchemas
from lastword.errors import ConfigError

if TYPE_CHECKING:
    from lastword.codecs.registry.avro import AvroCodec
    from lastword.codecs.registry.json_schema import JsonSchemaCodec
    from lastword.codecs.registry.protobuf import ProtobufCodec

SubjectStrategy = Literal["topic", "record", "topic-record"]
IdPlace = Literal["payload", "header"]

CODEC_NAMES = ("avro", "json-schema", "protobuf")


@dataclass(frozen=True)
class WriteRules:
    """Under which subject a schema is looked up for writing, and whether it may be registered.

    ``message`` names the message of a Protobuf schema that records are; None is the first one.
    ``id_in`` says where the id of the schema is written: before the document, or in a header.
    ``subject_name`` is the subject itself, whatever the strategy.
    """

    subject: SubjectStrategy = "topic"
    auto_register: bool = False
    message: str | None = None
    id_in: IdPlace = "payload"
    subject_name: str | None = None

    def __post_init__(self) -> None:
        _refuse_unknown("subject", self.subject, get_args(SubjectStrategy))
        _refuse_unknown("id_in", self.id_in, get_args(IdPlace))


def _refuse_unknown(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigError(f"{name}={given!r} does not exist", hint=f"use one of {', '.join(known)}")


class Registry:
    """A schema registry with Confluent's REST interface, by its URL.

    It connects when a schema is needed that this process has not cached. Codecs of one registry
    share the cache.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str | None = None,
        password: str | None = None,
        token: str | None = None,
        ca: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
        key_password: str | None = None,
        subject: SubjectStrategy = "topic",
        auto_register: bool = False,
        id_in: IdPlace = "payload",
    ) -> None:
        self.settings = RegistrySettings(
            url=url,
            username=username,
            password=password,
            token=token,
            ca=ca,
            certificate=certificate,
            key=key,
            key_password=key_password,
        )
        self._rules = WriteRules(subject, auto_register, id_in=id_in)

    @property
    def client(self) -> RegistryClient:
        """The requests to the registry: subjects, versions, registration."""
        return known_schemas(self.settings).client

    def avro(self, schema: Any = None, **rules: Any) -> AvroCodec:
        """An Avro codec. Without a ``schema`` (text or a dict) it writes with the subject's newest.

        With one, it resolves records to that schema, whatever schema they were written with.
        """
        from lastword.codecs.registry.avro import AvroCodec  # noqa: PLC0415 - loads fastavro

        return AvroCodec(self.settings, schema, replace(self._rules, **rules))

    def json_schema(self, schema: Any = None, **rules: Any) -> JsonSchemaCodec:
        """A JSON codec that validates documents against the schema they were written with.

        Instead of a ``schema`` it takes a class (a msgspec Struct, a dataclass or a pydantic
        model): the schema is generated, and values are of that class.
        """
        from lastword.codecs.registry.json_schema import JsonSchemaCodec  # noqa: PLC0415 - loads jsonschema-rs

        return JsonSchemaCodec(self.settings, schema, replace(self._rules, **rules))

    def protobuf(self, schema: Any = None, **rules: Any) -> ProtobufCodec:
        """Protobuf messages as dicts. The ``schema`` is the text of a .proto file.

        ``message`` names the message that records are; without it, the first one of the file.
        """
        from lastword.codecs.registry.protobuf import ProtobufCodec  # noqa: PLC0415 - loads protobuf

        return ProtobufCodec(self.settings, schema, replace(self._rules, **rules))

    def named(self, name: str, **rules: Any) -> AvroCodec | JsonSchemaCodec | ProtobufCodec:
        """The codec that settings call ``name``."""
        if name == "avro":
            return self.avro(**rules)
        if name == "json-schema":
            return self.json_schema(**rules)
        if name == "protobuf":
            return self.protobuf(**rules)
        raise ConfigError(
            f"{name!r} is not a codec of a registry", hint=f"use one of {', '.join(CODEC_NAMES)}"
        )


_known: dict[RegistrySettings, KnownSchemas] = {}
_lock = threading.Lock()


def known_schemas(settings: RegistrySettings) -> KnownSchemas:
    """The cache of a registry's schemas; all its codecs share it."""
    with _lock:
        if settings not in _known:
            _known[settings] = KnownSchemas(RegistryClient(settings))
        return _known[settings]
