"""The argument TABLE and the options that say how its keys and values are written."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, get_args

import click

from lastword.catalog.catalog_hint import CatalogHint
from lastword.cli.support.app_context import AppContext, SharedOption, with_cluster
from lastword.cli.support.window_keys import windowed_codec
from lastword.codecs.base import Codec, KeyCodec
from lastword.codecs.resolve import CodecSpec, codecs_for, key_codec
from lastword.codecs.row import RowCodec
from lastword.codecs.structured import Format
from lastword.codecs.typed import TypedCodec
from lastword.errors import ConfigError, DecodeError, EncodeError, LastwordError
from lastword.expiry import ttl_ms_of

if TYPE_CHECKING:
    from lastword.codecs.registry import Registry
    from lastword.codecs.row_schema import RowSchema
    from lastword.table.decoder import BadRecordPolicy
    from lastword.table.partitioned.routing import Layout
from lastword.writer.write_mode import WriteMode

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=LastwordError)

CODEC_NAMES = ("string", "json", "bytes", "int64", "msgpack")
ROW = "row"
"""The values of captured tables."""
WITH_SCHEMA = ("avro", "json-schema", "protobuf")
# Of each field that the catalog may set: how an error says so, and the flag that corrects it.
_SAID = {
    "key": ("keys are", "--key-codec NAME"),
    "value": ("values are", "--value-codec NAME"),
    "window": ("the window is", "--window MS"),
    "subject": ("the subject is", "--subject NAME"),
    "key_subject": ("the subject of keys is", "--key-subject NAME"),
    "message": ("the message is", "--message NAME"),
    "mount": ("the mount is", "--mount PATH"),
    "ttl": ("the time to live is", "--ttl DURATION"),
}
_FROM_CATALOG = tuple(_SAID)
_OF_KEYS = ("window", "key_subject")
_OF_VALUES = ("subject", "message")
DECODING = ("key", "value", *_OF_KEYS, *_OF_VALUES)


@dataclass(frozen=True)
class TableSpec:
    """A table as it was named: in ``lastword.toml`` or by its topic, with flags on top.

    ``by_catalog`` names the fields that only the catalog sets. ``subject`` and ``key_subject`` are
    those of the schemas, unless the topic names them. ``message`` is the one of a Protobuf schema.
    ``columns`` asks the catalog for those of a captured table. ``owned_by`` is the application
    whose instances own writes.
    """

    name: str
    topic: str
    key: str
    value: str
    store: str
    on_bad: BadRecordPolicy
    allow_expiry: bool
    mount: str | None = None
    window: str | None = None
    subject: str | None = None
    key_subject: str | None = None
    message: str | None = None
    versions: str | None = None
    snapshot_every: str | None = None
    ttl: str | None = None
    by_catalog: frozenset[str] = frozenset()
    registry: Callable[[], Registry] | None = None
    columns: Callable[[], RowSchema | None] | None = None
    writes: WriteMode = "direct"
    owned_by: str | None = None
    layout: Layout = "replicated"
    standbys: int = 1
    max_stale: str = "10s"
    conditions_required: bool = False
    value_class: type[Any] | None = None

    @property
    def key_codec(self) -> CodecSpec:
        """The codec of whole keys, their windows included."""
        key = self._resolved(self.key, id_in="payload", subject_name=self.key_subject)
        if self.window is None:
            return key
        try:
            return windowed_codec(key, self.window)
        except ConfigError as error:
            raise self.explained(error, "window") from error

    @property
    def _value_codec(self) -> CodecSpec:
        """The codec of values; of their class, if one was named."""
        kind = self.value_class
        if kind is None:
            return self._resolved(self.value, subject_name=self.subject, message=self.message)
        if self.value == "json-schema" and self.registry is not None:
            return self.registry().json_schema(kind, subject_name=self.subject)
        if self.value in get_args(Format):
            return TypedCodec(cast("Format", self.value), kind)
        raise ConfigError(
            f"{self.value} values have no class",
            hint="a class describes json, msgpack and json-schema values",
        )

    def _resolved(self, name: str, **rules: Any) -> CodecSpec:
        if name in WITH_SCHEMA and self.registry is not None:
            return self.registry().named(name, **rules)
        return RowCodec(self.columns) if name == ROW else name

    @functools.cached_property
    def codecs(self) -> tuple[KeyCodec[Any], Codec[Any]]:
        """The codecs of whole keys and of values; raises ConfigError for an unknown codec."""
        key = self.key_codec
        try:
            return codecs_for(self.topic, key, self._value_codec)
        except ConfigError as error:
            raise self.explained(error) from error

    def parse_key(self, text: str) -> Any:
        """A key from the command line; with windows, ``KEY@START``."""
        keys, _ = self.codecs
        return keys.decode(keys.parse(typed(text)))

    def parse_prefix(self, text: str) -> Any:
        """The beginning of a key from the command line; windows come after it."""
        keys = key_codec(self._resolved(self.key))
        return keys.decode(keys.parse(typed(text)))

    @property
    def checked_ttl(self) -> str | None:
        """The time to live of writes; raises ConfigError if it is not a duration."""
        if self.ttl is not None:
            try:
                ttl_ms_of(self.ttl)
            except ConfigError as error:
                raise self.explained(error, "ttl") from error
        return self.ttl

    def explained(self, error: E, *fields: str) -> E:
        """The error; if the catalog alone sets these fields, also with a hint how to correct it."""
        hint = self.catalog_hint(*fields)
        return error if hint is None else hint.added_to(error)

    def catalog_hint(self, *fields: str) -> CatalogHint | None:
        """What the catalog alone says of these fields; by default of those that decide decoding."""
        said = [name for name in fields or DECODING if name in self.by_catalog]
        if not said:
            return None
        words = " and ".join(f"{_SAID[name][0]} {getattr(self, name)}" for name in said)
        flag = _SAID["value" if "value" in said else said[0]][1]
        first = "" if fields else "give --key-codec or --value-codec; to "
        return CatalogHint(
            f"the catalog says of {self.topic} that {words}",
            f"if the catalog is wrong, {first}correct it: "
            f"lastword describe {self.name} {flag} --save",
        )


def typed(text: str) -> bytes:
    """The bytes of an argument, as the terminal gave them."""
    return text.encode("utf-8", errors="surrogateescape")


def table_spec(
    app: AppContext,
    name: str,
    flags: Mapping[str, object] | None = None,
    *,
    catalog: bool = True,
) -> TableSpec:
    """The table of that name in the settings, else the topic of that name; flags win.

    For fields that neither sets, the catalog counts, unless ``catalog`` is False.
    """
    given = {each: value for each, value in (flags or {}).items() if value is not None}
    values = app.settings.table(name) | given
    said = {**app.settings.tables.get(name, {}), **given}
    known = _cataloged(app, str(values["topic"]), said) if catalog else {}
    values |= known
    owned_by = app.application_id if values["writes"] == "owned" else None
    # A table of the settings says itself whether it is owned; without a word it is not.
    if catalog and "writes" not in said and name not in app.settings.tables:
        owned_by = _owner(app, str(values["topic"]))
        values["writes"] = "owned" if owned_by == app.application_id else "direct"
    return TableSpec(
        name=name,
        topic=str(values["topic"]),
        key=str(values["key"]),
        value=str(values["value"]),
        store=str(values["store"]),
        on_bad=cast("BadRecordPolicy", values["on_bad"]),
        # Windows expire anyway, so no warning is needed.
        allow_expiry=bool(values["allow_expiry"] or values["window"]),
        mount=_text(values["mount"]),
        window=_text(values["window"]),
        subject=_text(values["subject"]),
        key_subject=_text(values["key_subject"]),
        message=_text(values["message"]),
        versions=_text(values["versions"]),
        snapshot_every=_text(values["snapshot_every"]),
        ttl=_text(values["ttl"]),
        by_catalog=frozenset(known),
        registry=lambda: app.registry,
        columns=_columns(app, str(values["topic"])) if catalog and values["value"] == ROW else None,
        writes=cast("WriteMode", values["writes"]),
        owned_by=owned_by,
        layout=cast("Layout", values["layout"]),
        standbys=int(str(values["standbys"])),
        max_stale=str(values["max_stale"]),
        conditions_required=bool(values["conditions_required"]),
    )


def _cataloged(app: AppContext, topic: str, said: Mapping[str, object]) -> dict[str, str]:
    """The fields that the catalog adds; a codec that was given also decides what belongs to it."""
    if set(_FROM_CATALOG) <= said.keys() or (entry := app.catalog.get(topic)) is None:
        return {}
    known = {name: getattr(entry, name) for name in _FROM_CATALOG if name not in said}
    dropped = (_OF_KEYS if "key" in said else ()) + (_OF_VALUES if "value" in said else ())
    return {name: value for name, value in known.items() if value and name not in dropped}


def _owner(app: AppContext, topic: str) -> str | None:
    """The application that owns writes, as the catalog says."""
    entry = app.catalog.get(topic)
    return None if entry is None else entry.owned_by or None


def _columns(app: AppContext, topic: str) -> Callable[[], RowSchema | None] | None:
    """What asks the catalog for the columns of a captured table; None without an entry."""
    if topic not in app.catalog:
        return None
    from lastword.catalog.catalog import read_row_schema

    return functools.partial(read_row_schema, app.connection, app.log_source, topic)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


_TABLE_OPTIONS = (
    click.option(
        "--key-codec",
        "key_flag",
        cls=SharedOption,
        type=click.Choice([*CODEC_NAMES, *WITH_SCHEMA]),
        help="The codec of keys.  [default: the catalog's, else string]",
    ),
    click.option(
        "--window",
        "window_flag",
        cls=SharedOption,
        metavar="MS|session",
        help="Keys have windows of this length in milliseconds, or sessions; a key is "
        "written KEY@START, or KEY@START-END.  [default: the catalog's, else none]",
    ),
    click.option(
        "--value-codec",
        "value_flag",
        cls=SharedOption,
        type=click.Choice([*CODEC_NAMES, ROW, *WITH_SCHEMA]),
        help="The codec of values.  [default: the catalog's, else json]",
    ),
    click.option(
        "--on-bad",
        "on_bad_flag",
        cls=SharedOption,
        type=click.Choice(["fail", "skip", "quarantine"]),
        help="What happens when a value cannot be decoded.  [default: fail]",
    ),
)


def with_table(command: Callable[Concatenate[AppContext, TableSpec, P], R]) -> Callable[P, R]:
    """``with_cluster``, and the TABLE to work on."""
    return _with_table(command, catalog=True)


def with_table_offline(
    command: Callable[Concatenate[AppContext, TableSpec, P], R],
) -> Callable[P, R]:
    """The same for a command that reads no records and needs no cluster."""
    return _with_table(command, catalog=False)


def _with_table(
    command: Callable[Concatenate[AppContext, TableSpec, P], R], *, catalog: bool
) -> Callable[P, R]:
    @with_cluster
    @functools.wraps(command)
    def run(app: AppContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        flags = {each: kwargs.pop(f"{each}_flag") for each in ("key", "window", "value", "on_bad")}
        spec = table_spec(app, str(kwargs.pop("table")), flags, catalog=catalog)
        try:
            return command(app, spec, *args, **kwargs)
        except (DecodeError, EncodeError) as error:
            raise spec.explained(error) from error

    for option in reversed(_TABLE_OPTIONS):
        run = option(run)
    return click.argument("table")(run)
