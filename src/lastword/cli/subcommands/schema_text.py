"""Schemas as text: which one a command means, read from a file, and compared line by line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from pathlib import Path

from lastword.codecs.registry.client import Reference, RegistryClient, Schema, SchemaVersion
from lastword.errors import ConfigError

KINDS = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}
_BY_SUFFIX = {".avsc": "avro", ".json": "json-schema", ".proto": "protobuf"}


def found_version(client: RegistryClient, subject: str, version: int | None) -> SchemaVersion:
    """That version of the subject, the newest without one; raises ConfigError."""
    found = client.version(subject, "latest" if version is None else version)
    if found is None:
        what = f"subject {subject}" if version is None else f"version {version} of {subject}"
        raise ConfigError(
            f"the registry has no {what}", hint="lastword schema list shows the subjects"
        )
    return found


def read_schema(path: Path, kind: str | None, references: Iterable[str] = ()) -> Schema:
    """The schema in a file; its kind follows from the suffix. Raises ConfigError.

    Each reference is ``NAME=SUBJECT:VERSION``.
    """
    kind = kind or _BY_SUFFIX.get(path.suffix)
    if kind is None:
        raise ConfigError(
            f"{path.name} does not say what kind of schema it holds",
            hint=f"name it {', '.join(f'*{each}' for each in _BY_SUFFIX)}, or give --kind",
        )
    try:
        return Schema(path.read_text(), KINDS[kind], tuple(map(_reference, references)))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def _reference(text: str) -> Reference:
    name, _, where = text.partition("=")
    subject, _, version = where.rpartition(":")
    if not (name and subject and version.isdecimal()):
        raise ConfigError(
            f"{text!r} is not a reference",
            hint="give NAME=SUBJECT:VERSION, as in shop.Address=addresses-value:1",
        )
    return Reference(name, subject, int(version))


def shown(schema: Schema) -> str:
    """The text as people read it: JSON on many lines."""
    try:
        return json.dumps(json.loads(schema.schema), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.schema


def difference(old: SchemaVersion, new: SchemaVersion) -> list[str]:
    """The lines that differ, as ``diff -u`` shows them."""
    return list(
        difflib.unified_diff(
            shown(old.content).splitlines(),
            shown(new.content).splitlines(),
            f"{old.subject} version {old.version}",
            f"{new.subject} version {new.version}",
            lineterm="",
        )
    )
