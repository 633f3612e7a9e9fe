"""Which records of a batch a table accepts: the rules; the batch itself has the loops.

Records that cannot belong to a table (no key, wrong partition) are dropped and counted, never
applied and never fatal. So are those that cannot be read, where the table quarantines them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lastword.errors import TopicUnfitError
from lastword.keyspace import Keyspace
from lastword.records import Batch, Header, Record, TableRules, Validate
from lastword.replicas.apply.checkpoint import Quarantined


@dataclass(slots=True)
class FilteredBatch:
    """The result of a batch: disjoint puts and deletes, and what was dropped."""

    puts: dict[bytes, bytes]
    deletes: Sequence[bytes]
    keyless: int = 0
    misplaced: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)
    bad_expiries: int = 0
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """The rules of one topic; the same for each of its partitions.

    ``sole_writer`` is the header that every record must carry where only one table may write. With
    ``takes_empty_keys`` an empty key is like any other: tables refuse it, pipelines may not. With
    ``owned`` the records that no owner wrote are counted.
    """

    keyspace: Keyspace
    validate: Validate | None = None
    sole_writer: Header | None = None
    takes_empty_keys: bool = False
    owned: bool = False

    @property
    def rules(self) -> TableRules:
        """Which records belong to the table."""
        return TableRules(self.keyspace, self.sole_writer, self.takes_empty_keys)

    def filtered(self, batch: Batch) -> FilteredBatch:
        """What the batch does to the table; raises TopicUnfitError for a foreign record."""
        if self.sole_writer is not None:
            _refuse_foreign(batch, self.sole_writer)
        rows = batch.table_rows(self.rules, self.validate)
        bad = [Quarantined(batch.partition, *refused) for refused in rows.refused]
        return FilteredBatch(
            rows.puts,
            rows.deletes,
            rows.keyless,
            rows.misplaced,
            bad,
            rows.bad_expiries,
            batch.unowned() if self.owned else 0,
        )

    def records_of_table(self, batch: Batch) -> Iterator[Record]:
        """The records that belong to the table, every change of a key among them."""
        return batch.table_records(self.rules)


def _refuse_foreign(batch: Batch, mark: Header) -> None:
    offset = batch.offset_without(mark)
    if offset is not None:
        raise TopicUnfitError(
            f"the record at partition {batch.partition}, offset {offset} was not written "
            "by this table, which evicts keys and must be the topic's only writer",
            hint="give the table a separate topic, or use another store",
        )
