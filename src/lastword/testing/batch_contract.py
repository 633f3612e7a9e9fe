"""What every batch must answer, as tests: subclass, say how to make one, and run pytest.

    class TestMyBatch(BatchContract):
        def make_batch(self, written: WrittenBatch) -> Batch:
            return MyBatch(written.records, ...)

Each answer is compared with that of a plain model, record by record. Needs pytest and hypothesis.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastword.keyspace import Keyspace
from lastword.records import (
    FENCE_KEY,
    INSTANCE_HEADER,
    REQUEST_HEADER,
    Batch,
    Record,
    TableRules,
)
from lastword.testing.batch_model import (
    INSTANCE,
    KEYS,
    OWNER,
    RULES,
    TableModel,
    WrittenBatch,
    batches,
    belongs,
    busy_batches,
    plain_batches,
    row_changes,
    unmarked,
    why_bad,
)

LEADER_EPOCH = 7
"""The epoch that a batch is made with."""

# Several kinds of batch may be tested in one run, each by a class that inherits these tests.
_checked = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.differing_executors]
)

VALIDATORS = st.sampled_from([None, why_bad])


class BatchContract:
    """The contract of a batch of partition 0."""

    def make_batch(self, written: WrittenBatch) -> Batch:
        """A batch of exactly these records."""
        raise NotImplementedError

    @_checked
    @given(batches())
    def test_its_columns_and_its_records_are_what_was_written(self, written: WrittenBatch) -> None:
        batch, records = self.make_batch(written), written.records
        assert isinstance(batch, Batch)
        assert len(batch) == len(records)
        assert list(batch.records()) == records
        assert list(batch.keys) == [each.key for each in records]
        assert list(batch.values) == [each.value for each in records]
        assert batch.offsets.tolist() == [each.offset for each in records]
        assert batch.timestamps.tolist() == [each.timestamp_ms for each in records]
        assert [each or () for each in batch.headers] == [each.headers for each in records]
        assert (batch.partition, batch.leader_epoch) == (0, LEADER_EPOCH)
        assert batch.next_offset == written.next_offset
        assert list(batch.unreadable_headers) == written.unreadable_headers
        assert batch.size_bytes == sum(
            len(each.key or b"") + len(each.value or b"") for each in records
        )

    @_checked
    @given(batches())
    def test_its_numbers_are_numbers_of_python(self, written: WrittenBatch) -> None:
        """A numpy integer would end in a message or a checkpoint that cannot be encoded."""
        batch = self.make_batch(written)
        rows = batch.table_rows(TableRules(Keyspace(1)), why_bad)
        found: list[object] = [batch.next_offset, batch.size_bytes, rows.keyless, rows.misplaced]
        found += [rows.bad_expiries]
        found += [number for each in batch.records() for number in each[:3]]
        found += [each.offset for each in rows.refused]
        found += batch.tombstones().values()
        found += [batch.offset_without(OWNER) or 0]
        assert {type(number) for number in found} == {int}

    @_checked
    @given(batches(), RULES, VALIDATORS)
    def test_the_last_record_of_each_key_becomes_a_row_or_a_delete(
        self, written: WrittenBatch, rules: TableRules, validate: object
    ) -> None:
        chosen = why_bad if validate else None
        rows = self.make_batch(written).table_rows(rules, chosen)
        model = TableModel(written.records, rules, chosen)
        assert dict(rows.puts) == model.puts
        assert len(rows.deletes) == len(set(rows.deletes))
        assert set(rows.deletes) == model.deletes
        assert (rows.keyless, rows.misplaced) == (model.keyless, model.misplaced)
        assert rows.bad_expiries == model.bad_expiries
        assert sorted(rows.refused) == model.refused
        if rules.sole_writer is not None:
            assert list(rows.puts) == list(model.puts), "not in the order of use"

    @_checked
    @given(busy_batches())
    def test_of_a_key_that_comes_again_only_the_last_record_counts(
        self, given_: tuple[WrittenBatch, TableRules]
    ) -> None:
        written, rules = given_
        rows = self.make_batch(written).table_rows(rules)
        model = TableModel(written.records, rules)
        assert (dict(rows.puts), sorted(rows.deletes)) == (model.puts, sorted(model.deletes))
        assert (rows.keyless, rows.misplaced) == (model.keyless, model.misplaced)

    @_checked
    @given(plain_batches())
    def test_puts_without_headers_become_rows(
        self, given_: tuple[WrittenBatch, TableRules]
    ) -> None:
        written, rules = given_
        rows = self.make_batch(written).table_rows(rules)
        assert dict(rows.puts) == TableModel(written.records, rules).puts
        assert not rows.deletes
        assert (rows.keyless, rows.misplaced, list(rows.refused)) == (0, 0, [])
        assert rows.bad_expiries == 0

    @_checked
    @given(batches(), RULES)
    def test_the_records_of_a_table_are_every_change_that_belongs_to_it(
        self, written: WrittenBatch, rules: TableRules
    ) -> None:
        expected = [
            each._replace(headers=unmarked(each.headers, rules))
            for each in written.records
            if belongs(each, rules)
        ]
        assert list(self.make_batch(written).table_records(rules)) == expected

    @_checked
    @given(batches(), RULES, VALIDATORS, st.integers(-1, 10))
    def test_every_change_is_a_row_with_the_latest_time_so_far(
        self, written: WrittenBatch, rules: TableRules, validate: object, since_ms: int
    ) -> None:
        chosen = why_bad if validate else None
        changes = self.make_batch(written).row_changes(rules, since_ms, chosen)
        assert list(changes) == list(row_changes(written.records, rules, since_ms, chosen))

    @_checked
    @given(batches(), st.integers(-1, 200))
    def test_it_can_be_cut_at_an_offset(self, written: WrittenBatch, after: int) -> None:
        first = written.records[0].offset if written.records else written.next_offset
        end = max(0, first + after)
        cut = self.make_batch(written).below(end)
        assert list(cut.records()) == [each for each in written.records if each.offset < end]
        assert cut.next_offset == min(end, written.next_offset)
        assert list(cut.unreadable_headers) == [o for o in written.unreadable_headers if o < end]
        assert (cut.partition, cut.leader_epoch) == (0, LEADER_EPOCH)

    @_checked
    @given(batches(), st.integers(0, 60))
    def test_it_can_be_cut_after_some_records(self, written: WrittenBatch, count: int) -> None:
        count = min(count, len(written.records))
        kept = written.records[:count]
        end = kept[-1].offset + 1 if kept else written.next_offset
        cut = self.make_batch(written).first(count, end)
        assert (list(cut.records()), cut.next_offset) == (kept, end)
        rules = TableRules(Keyspace(1))
        assert dict(cut.table_rows(rules).puts) == TableModel(kept, rules).puts

    @_checked
    @given(batches(), KEYS)
    def test_the_records_of_a_key_are_found(self, written: WrittenBatch, key: bytes | None) -> None:
        found = self.make_batch(written).records_of(key or b"")
        assert found == [each for each in written.records if each.key == (key or b"")]

    @_checked
    @given(batches())
    def test_the_last_tombstone_of_each_key_is_found(self, written: WrittenBatch) -> None:
        gone = [each for each in written.records if each.value is None and each.key is not None]
        expected = {each.key: each.offset for each in gone}
        assert self.make_batch(written).tombstones() == expected

    @_checked
    @given(batches())
    def test_it_counts_what_it_holds(self, written: WrittenBatch) -> None:
        contents = self.make_batch(written).contents()
        keyed = [each for each in written.records if each.key]
        assert contents.keyless == len(written.records) - len(keyed)
        assert contents.tombstones == sum(each.value is None for each in keyed)
        assert contents.sizes == {each.key: _size(each) for each in keyed}

    @_checked
    @given(batches())
    def test_the_marks_of_its_records_are_found(self, written: WrittenBatch) -> None:
        batch = self.make_batch(written)
        rows = [each for each in written.records if each.key != FENCE_KEY]
        unmarked_at = [each.offset for each in rows if OWNER not in each.headers]
        assert batch.offset_without(OWNER) == (unmarked_at[0] if unmarked_at else None)
        assert list(batch.header_values(INSTANCE_HEADER)) == [
            (each.offset, INSTANCE[1]) for each in written.records if INSTANCE in each.headers
        ]

    @_checked
    @given(batches())
    def test_the_records_that_no_owner_wrote_are_counted(self, written: WrittenBatch) -> None:
        names = [
            {name for name, _ in each.headers} for each in written.records if each.key != FENCE_KEY
        ]
        expected = sum(REQUEST_HEADER not in each for each in names)
        assert self.make_batch(written).unowned() == expected

    def test_an_empty_batch_changes_nothing(self) -> None:
        batch = self.make_batch(WrittenBatch([], 12, []))
        rows = batch.table_rows(TableRules(Keyspace(3)))
        assert (len(batch), dict(rows.puts), list(rows.deletes)) == (0, {}, [])
        assert batch.below(5).next_offset == 5


def _size(record: Record) -> int | None:
    return None if record.value is None else len(record.key or b"") + len(record.value)
