"""The schema that a codec writes with: found in the registry, or registered there."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from lastword.codecs.base import Part
from lastword.codecs.registry.client import RegisteredId, RegistryClient, Schema
from lastword.codecs.registry.known_schemas import KnownSchemas, Parse
from lastword.codecs.registry.registry import WriteRules
from lastword.codecs.registry.wire_format import id_bytes_of
from lastword.errors import EncodeError

log = logging.getLogger(__name__)


class WriteSchema(NamedTuple):
    """The schema for writing: its id in the registry, as it is written, and its parsed form."""

    schema_id: int
    id_bytes: bytes
    parsed: Any


class Subject(NamedTuple):
    """The name under which a codec looks up its schema, and for which part of a record."""

    name: str
    part: Part


def find_write_schema(
    known: KnownSchemas, subject: Subject, schema: Schema | None, rules: WriteRules, parse: Parse
) -> WriteSchema:
    """The schema given, or the newest of the subject; registered if the rules allow it.

    Raises EncodeError if there is none, and RegistryError if the registry does not answer.
    """
    client = known.client
    if schema is None:
        newest = client.version(subject.name)
        if newest is None:
            raise no_subject(subject.name)
        found, schema = RegisteredId(newest.id, newest.guid), newest.content
    else:
        found = client.find(subject.name, schema) or _registered(client, subject, schema, rules)
    # Confluent's writers put a GUID into the header. Every reader takes a number as well.
    guid = found.guid if rules.id_in == "header" else None
    try:
        parsed = parse(schema, known.references(schema))
    except ValueError as error:
        raise EncodeError(f"the schema of {subject.name} cannot be used: {error}") from error
    return WriteSchema(found.id, id_bytes_of(guid or found.id), parsed)


def _registered(
    client: RegistryClient, subject: Subject, schema: Schema, rules: WriteRules
) -> RegisteredId:
    if not rules.auto_register:
        raise EncodeError(
            f"the schema is not registered under {subject.name}",
            hint="register it first, or allow it with auto_register=True",
        )
    if (why := client.why_incompatible(subject.name, schema)) is not None:
        raise EncodeError(
            f"the schema is incompatible with {subject.name}: {why}",
            hint="give new fields a default, or write to another topic",
        )
    if subject.part == "key" and (warning := would_move_keys(client, subject.name, schema)):
        log.warning("%s", warning)
    return client.register(subject.name, schema)


def would_move_keys(client: RegistryClient, subject: str, schema: Schema) -> str | None:
    """What a new schema of keys does to the existing ones; None for the first or a known one."""
    if not client.versions(subject) or client.find(subject, schema) is not None:
        return None
    return (
        f"{subject}: each key contains the id of its schema; keys written with the new schema "
        "differ from the existing ones and may be in other partitions"
    )


def no_subject(subject: str) -> EncodeError:
    """The error for a subject without a schema."""
    return EncodeError(
        f"the registry has no subject {subject}, so there is no schema for writing",
        hint=f"register a schema first (lastword schema register {subject} FILE), or pass one",
    )
