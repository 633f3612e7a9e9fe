"""A rewrite of old schema versions loses no concurrent write."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from lastword.codecs.typed import TypedCodec
from lastword.errors import ConfigError
from lastword.table.schemas.held_versions import count_versions, versioned
from lastword.table.schemas.rewriting import rewrite
from lastword.table.table import Table
from tests.support.local_tables.tables import Tables

pytestmark = pytest.mark.broker


class Profile(msgspec.Struct):
    name: str
    __schema_version__: ClassVar[int] = 2


class Meanwhile(TypedCodec[Profile]):
    """Somebody else writes ``b`` just when its old value is upgraded."""

    table: Table

    def renewed(self, data: bytes) -> bytes | None:
        if b"old b" in data:
            self.table.put("b", Profile("new b"))
        return super().renewed(data)


@pytest.mark.parametrize("writes", ["direct", "owned"])
def test_a_key_that_somebody_else_changes_is_not_rewritten(
    tables: Tables, topic: str, writes: Any
) -> None:
    table = tables.open(topic, value=Profile, writes=writes, application_id=topic)
    for name in ("a", "b", "c"):
        table.raw.put(name.encode(), b'{"name":"old %s"}' % name.encode())
    table.put("d", Profile("d"))
    codec = Meanwhile("json", Profile)
    codec.table = table
    done = rewrite(table.raw, codec, conditional=writes == "owned")
    assert (done.written, done.current, done.skipped, done.failed) == (2, 1, 1, 0)
    assert table["b"] == Profile("new b")
    assert table["a"] == Profile("old a")
    (held,) = count_versions(table.raw, codec)
    assert (held.version, held.keys, held.newest) == ((2, None), 4, True)


def test_codecs_without_versions_are_refused() -> None:
    from lastword.codecs import codec

    with pytest.raises(ConfigError, match="no schema version"):
        versioned(codec("int64"))
