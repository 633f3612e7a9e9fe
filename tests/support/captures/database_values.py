"""A table with a column of every type, and random values for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.adapt import Loader
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader

TYPES: Final = """
CREATE TYPE mood AS ENUM ('fine', 'so so', 'it''s bad');
CREATE DOMAIN weight AS numeric(9,3) CHECK (VALUE > 0);
CREATE DOMAIN label AS text;
"""
CREATE: Final = """
CREATE TABLE {} (
  KEY, n bigint NOT NULL, small smallint, whole int, yes bool, word text,
  num numeric, price numeric(12,2), r real, d double precision, ts timestamp, tstz timestamptz,
  day date, t time, j json, jb jsonb, ints int[], texts text[], nums numeric[], raw bytea, u uuid,
  bits bit(3), ip inet, span int4range, vc varchar(9), ch char(5), cash money, ttz timetz,
  age interval, days date[], moments timestamptz[], feels mood, kg weight, title label,
  net cidr, mac macaddr, digits varbit(9), during tstzrange, prices numrange, flags bool[],
  ids uuid[], raws bytea[], times timestamp[], note text, doc jsonb, blob bytea
)
"""
SINGLE_COLUMN: Final = "id int PRIMARY KEY"
SEVERAL_COLUMNS: Final = "id int NOT NULL UNIQUE, code text, tag uuid, PRIMARY KEY (code, tag)"
KEYS_BY_TRIGGER: Final = """
CREATE FUNCTION set_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.code := 'é "' || NEW.id;
  NEW.tag := md5(NEW.id::text)::uuid;
  RETURN NEW;
END $$;
CREATE TRIGGER set_key BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION set_key();
"""
"""A key of a text and a UUID, both made of ``id``."""
LARGE: Final = ("note", "doc", "blob")

Chance = random.Random


def _or_infinite(some: Callable[[Chance], str]) -> Callable[[Chance], str]:
    def value(chance: Chance) -> str:
        return chance.choice(("infinity", "-infinity", *(3 * (some(chance),))))

    return value


def _day(chance: Chance) -> str:
    return f"{chance.randint(1000, 9999)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _time(chance: Chance) -> str:
    return (
        f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:07.{chance.randint(0, 999999):06}"
    )


_ZONES = ("+00", "+05:30", "-11")

_TEXT: dict[str, Callable[[Chance], str]] = {
    "smallint": lambda chance: str(chance.randint(-32768, 32767)),
    "integer": lambda chance: str(chance.randint(-(1 << 31), (1 << 31) - 1)),
    "bigint": lambda chance: str(chance.randint(-(1 << 63), (1 << 63) - 1)),
    "boolean": lambda chance: chance.choice(("true", "false")),
    "text": lambda chance: chance.choice(("", "é", "null", '"', "\\", "a\tb\nc", "x" * 50)),
    "character varying(9)": lambda chance: chance.choice(("", "é", "  ", "null", "x" * 9)),
    "character(5)": lambda chance: chance.choice(("", "é", "ab c", "x" * 5)),
    "money": lambda chance: f"{chance.randint(-(10**9), 10**9) / 100:.2f}",
    "numeric": lambda chance: chance.choice(
        ("NaN", "Infinity", "-Infinity", "0", "1e-9", "12345678901234567890.123")
    ),
    "numeric(12,2)": lambda chance: f"{chance.randint(-(10**9), 10**9) / 100:.2f}",
    "numeric(16,4)": lambda chance: f"{chance.randint(-(10**9), 10**9) / 100:.2f}",
    "real": lambda chance: chance.choice(("1.5", "-0.1", "Infinity", "NaN", "3e20")),
    "double precision": lambda chance: chance.choice(("0.1", "-Infinity", "NaN", "1e300", "-7")),
    "timestamp without time zone": _or_infinite(lambda chance: f"{_day(chance)} {_time(chance)}"),
    "timestamp with time zone": _or_infinite(lambda chance: f"{_day(chance)} {_time(chance)}+02"),
    "date": _or_infinite(_day),
    "time without time zone": _time,
    "time with time zone": lambda chance: f"{_time(chance)}{chance.choice(_ZONES)}",
    "interval": lambda chance: (
        f"{chance.randint(-99, 99)} months {chance.randint(-40, 40)} days "
        f"{chance.choice(('', '-'))}{_time(chance)}"
    ),
    "json": lambda chance: json.dumps({"a": chance.random(), "b": [1, None, "é"]}),
    "jsonb": lambda chance: json.dumps({"b": chance.randint(0, 9), "a": {"c": [True]}}),
    "integer[]": lambda chance: chance.choice(("{}", "{1,NULL,3}")),
    "text[]": lambda chance: chance.choice(("{}", '{a,NULL,"b c"}')),
    "date[]": lambda chance: f"{{{_day(chance)},NULL,infinity}}",
    "timestamp with time zone[]": lambda chance: f'{{"{_day(chance)} {_time(chance)}+02",NULL}}',
    "numeric[]": lambda chance: chance.choice(("{}", "{1.5,NULL}")),
    "bytea": lambda chance: f"\\x{chance.randbytes(chance.randint(0, 20)).hex()}",
    "uuid": lambda chance: str(UUID(bytes=chance.randbytes(16))),
    "bit(3)": lambda chance: f"{chance.randint(0, 7):03b}",
    "inet": lambda chance: f"10.0.0.{chance.randint(0, 255)}/8",
    "int4range": lambda chance: chance.choice(("empty", "[1,5)", "(,7)")),
    "numrange": lambda chance: chance.choice(("empty", "[1.50,2]", "(-7.25,)")),
    "tstzrange": lambda chance: f'["{_day(chance)} {_time(chance)}+02",infinity)',
    "mood": lambda chance: chance.choice(("fine", "so so", "it's bad")),
    "weight": lambda chance: f"{chance.randint(1, 10**9) / 1000:.3f}",
    "label": lambda chance: chance.choice(("", "é", "null")),
    "cidr": lambda chance: chance.choice((f"10.{chance.randint(0, 255)}.0.0/16", "2001:db8::/32")),
    "macaddr": lambda chance: chance.randbytes(6).hex(":"),
    "bit varying(9)": lambda chance: f"{chance.randint(0, 511):b}"[: chance.randint(0, 9)],
    "boolean[]": lambda chance: chance.choice(("{}", "{t,NULL,f}")),
    "uuid[]": lambda chance: f"{{{UUID(bytes=chance.randbytes(16))},NULL}}",
    "bytea[]": lambda chance: f'{{"\\\\x{chance.randbytes(3).hex()}",NULL,"\\\\x"}}',
    # Debezium shifts dates before 1582 in these arrays, unless it reads them in a snapshot.
    "timestamp without time zone[]": lambda chance: (
        f'{{"{chance.randint(1600, 9999)}-02-03 {_time(chance)}",NULL,-infinity}}'
    ),
}
SELECTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("inet", "cidr", "int4range", "numrange", "tstzrange"), "{0}::text"),
    "weight": "{0}::text",
    "bit varying(9)": "lpad({0}::text, 9, '0')",
    "time with time zone": "{0} AT TIME ZONE 'UTC'",
    "money": "{0}::numeric",
    "interval": "CASE WHEN {0} IS NOT NULL THEN format('P%sY%sM%sDT%sH%sM%sS', "
    "extract(year FROM {0}), extract(month FROM {0}), extract(day FROM {0}), "
    "extract(hour FROM {0}), extract(minute FROM {0}), trim_scale(extract(second FROM {0}))) END",
}
"""Types that a row has otherwise than psycopg: how to ask for them."""
WIDER: Final[Mapping[str, str]] = {
    "smallint": "integer",
    "integer": "bigint",
    "real": "double precision",
    "numeric(12,2)": "numeric(16,4)",
}


def with_infinity(connection: psycopg.Connection[Any]) -> None:
    """Have a connection read infinite dates, which Python does not have, as text."""
    for name, loader in (
        ("date", DateLoader),
        ("timestamp", TimestampLoader),
        ("timestamptz", TimestamptzLoader),
    ):
        connection.adapters.register_loader(name, _or_text(loader))


def _or_text(loader: type[Loader]) -> type[Loader]:
    class OrText(loader):  # type: ignore[misc, valid-type]
        def load(self, data: Any) -> Any:
            text = bytes(data).decode()
            return text if text.endswith("infinity") else super().load(data)

    return OrText


def some_value(name: str, kind: str, chance: Chance) -> str | None:
    """A value for a column as PostgreSQL reads it from text; None is NULL."""
    if chance.random() < 0.15:
        return None
    if name.startswith(LARGE) and chance.random() < 0.5:
        return _large(kind, chance)
    return _TEXT[kind](chance)


def _large(kind: str, chance: Chance) -> str:
    """Too large for a row's page, so that PostgreSQL keeps it elsewhere."""
    text = chance.randbytes(1).hex() * chance.randint(1_100, 2_000)
    return {"text": text, "bytea": f"\\x{text}{text}"}.get(kind, json.dumps({"large": text}))
