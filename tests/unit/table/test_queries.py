"""The decoding skin: values and keys of Python around a core that knows bytes only."""

from __future__ import annotations

import pytest

from lastword.codecs import windowed
from lastword.codecs.resolve import codec, key_codec
from lastword.codecs.windowed import WindowedKey
from lastword.errors import ConfigError, DecodeError, PartitionNotHereError
from lastword.keyspace import Keyspace
from lastword.records import Position, Version
from lastword.replicas.versions.versions import VersionLimit
from lastword.table.decoder import BadRecordPolicy, Decoder
from lastword.table.queries import Queries
from lastword.table.watch import Watch
from lastword.table.writing.conditions import TOMBSTONE
from lastword.table.writing.writes import Writes
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import TOPIC, OfflineTable


def decoder(table: OfflineTable, policy: BadRecordPolicy = "fail") -> Decoder:
    skipped = table.metrics.counter("skipped_records_total")
    return Decoder(TOPIC, key_codec("string"), codec("json"), policy, skipped)


def queries(table: OfflineTable, policy: BadRecordPolicy = "fail") -> Queries:
    return Queries(table.raw, decoder(table, policy))


def test_every_read_gives_the_same_decoded_entry(table: OfflineTable) -> None:
    version = table.append(b"a", b'{"n":1}')
    query = queries(table)
    entry = query.get("a").value
    assert entry is not None
    assert (entry.key, entry.value, entry.version) == ("a", {"n": 1}, version)
    assert query.value("a", None) == {"n": 1}
    assert query.contains("a").value
    assert query.get_many(["a", "b"]).value == {"a": entry}
    assert query.values(["a", "b"]) == {"a": {"n": 1}}
    assert list(query.scan()) == [entry]
    assert list(query.pairs(prefix="a")) == [("a", {"n": 1})]
    assert query.count().value == 1
    assert query.value("b", "default") == "default"


def test_a_read_passes_on_what_it_asks_for(table: OfflineTable, clock: FakeClock) -> None:
    query = queries(table)
    with pytest.raises(ConfigError, match="names partitions"):
        query.get("a", at_least=Position({7: 0}))
    table.lose(0)
    with pytest.raises(PartitionNotHereError):
        query.scan()
    with pytest.raises(PartitionNotHereError):
        query.pairs()
    assert query.count(partitions=(1, 2)).position.offsets == {1: 0, 2: 0}
    assert list(query.scan(partitions=(1, 2))) == []
    clock.advance(seconds=11)
    assert query.count(partitions=(1,)).stale


def test_a_bad_value_is_the_decoders_affair(table: OfflineTable) -> None:
    table.append(b"bad", b"{")
    for read in (
        lambda: queries(table).value("bad", None),
        lambda: queries(table).get("bad"),
        lambda: queries(table).values(["bad"]),
        lambda: list(queries(table).scan()),
    ):
        with pytest.raises(DecodeError, match="partition"):
            read()
    skipping = queries(table, "skip")
    assert skipping.value("bad", "default") == "default"
    assert skipping.get("bad").value is None
    assert skipping.values(["bad"]) == {}
    assert list(skipping.scan()) == []
    assert list(skipping.pairs()) == []
    assert table.metrics.counter("skipped_records_total").value == 5
    table.append(b"good", b"1")
    assert skipping.values(["bad", "good"]) == {"good": 1}


def test_many_values_are_read_whether_their_records_have_headers_or_not(
    table: OfflineTable,
) -> None:
    for n in range(20):
        table.append(b"k%d" % n, b"%d" % n, (("name", b"value"),) if n % 5 == 0 else None)
    keys = [f"k{n}" for n in range(25)]
    assert queries(table).values([*keys, *keys]) == {f"k{n}": n for n in range(20)}


def test_the_windows_of_a_key_are_read_from_its_partition_alone(clock: FakeClock) -> None:
    keys = windowed("string", size_ms=1000)
    table = OfflineTable(clock, keyspace=Keyspace(3, keys.suffix_bytes))
    skipped = table.metrics.counter("skipped_records_total")
    query = Queries(table.raw, Decoder(TOPIC, keys, codec("json"), "fail", skipped))
    for start_ms in (0, 1000, 2000):
        table.append(keys.encode(WindowedKey("a", start_ms)), b"%d" % start_ms)
        table.append(keys.encode(WindowedKey("ab", start_ms)), b"1")
    home = table.keyspace.partition_of(keys.encode(WindowedKey("a", 0)))
    for other in {0, 1, 2} - {home}:
        table.lose(other)
    scan = query.windows("a", 1000)
    assert list(scan.position.offsets) == [home]
    assert [entry.value for entry in scan] == [1000, 2000]
    with pytest.raises(ConfigError, match="has no windows"):
        queries(table).windows("a")


def test_past_values_are_decoded_too(clock: FakeClock) -> None:
    table = OfflineTable(clock, keep=VersionLimit(versions=3))
    query = queries(table)
    first = table.append(b"a", b"1")
    table.append(b"a", None)
    table.append(b"a", b"3")
    entry = query.entry_at("a", first)
    assert entry is not None
    assert (entry.value, entry.version) == (1, first)
    assert query.entry_at("a", Version(first.partition, first.offset + 1)) is None
    assert [(each.value, each.deleted) for each in query.versions("a")] == [
        (1, False),
        (None, True),
        (3, False),
    ]


def test_a_table_without_versions_says_how_to_keep_them(table: OfflineTable) -> None:
    with pytest.raises(ConfigError, match="keeps no versions"):
        queries(table).versions("a")


def test_writes_are_encoded_and_a_bad_one_fails_alone(table: OfflineTable) -> None:
    writes = Writes(table.raw, decoder(table))
    version = writes.put("a", {"n": 1}, (), None)
    assert queries(table).value("a", None) == {"n": 1}
    good, bad, gone = writes.put_many([("b", 2), ("c", object()), ("a", TOMBSTONE)])
    assert (good.key, good.status, bad.key, bad.status) == ("b", "ok", "c", "failed")
    assert gone.version == Version(version.partition, version.offset + 1)
    assert [entry.key for entry in queries(table).scan()] == ["b"]


def test_a_watch_decodes_and_knows_where_to_resume(table: OfflineTable) -> None:
    with Watch(TOPIC, table.raw.watch(), decoder(table), table.raw.records_of_table) as watch:
        version = table.append(b"a", b"1")
        change = watch.take(1)
        assert change is not None
        assert (change.key, change.value, change.version) == ("a", 1, version)
        assert watch.position.offsets[version.partition] == version.offset + 1
        assert watch.take(0) is None
    assert next(watch, None) is None
