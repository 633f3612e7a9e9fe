"""Versions of the columns of a captured table: what changed between two of them."""

from __future__ import annotations

from lastword.catalog.catalog_entry import CatalogEntry, decode_entry, encode_entry
from lastword.codecs.row_schema import HISTORY_MAX, RowSchema, SourceColumn, SourceColumns

ID = SourceColumn("id", "integer", 1)
NOTE = SourceColumn("note", "text", 2)
FIRST = RowSchema.first(SourceColumns(7, (ID, NOTE)))


def changes(*columns: SourceColumn, table_id: int = 7) -> tuple[str, ...]:
    followed = FIRST.followed(SourceColumns(table_id, columns), 1000)
    if followed.version == 1:
        return ()
    (change,) = followed.history
    assert (change.version, change.at) == (followed.version, 1000) == (2, 1000)
    return change.changes


def test_every_kind_of_change_is_told_from_the_others() -> None:
    assert changes(ID, NOTE, SourceColumn("n", "bigint", 3)) == ("added n bigint",)
    assert changes(ID) == ("dropped note",)
    assert changes(ID, SourceColumn("remark", "text", 2)) == ("renamed note to remark",)
    assert changes(SourceColumn("id", "bigint", 1), NOTE) == ("changed id from integer to bigint",)
    assert changes(ID, SourceColumn("remark", "varchar(9)", 2)) == (
        "renamed note to remark",
        "changed remark from text to varchar(9)",
    )


def test_a_column_dropped_and_added_again_is_another_column() -> None:
    assert changes(ID, SourceColumn("note", "text", 3)) == ("dropped note", "added note text")


def test_a_table_made_again_has_the_columns_of_the_same_names() -> None:
    again = SourceColumn("note", "text", 5)
    assert changes(ID, again, table_id=8) == ()
    assert FIRST.followed(SourceColumns(8, (ID, again)), 1).describes(SourceColumns(8, (ID, again)))
    assert changes(again, SourceColumn("id", "text", 6), table_id=8) == (
        "changed id from integer to text",
    )


def test_the_history_is_limited_and_survives_the_catalog() -> None:
    schema = FIRST
    for number in range(HISTORY_MAX + 5):
        schema = schema.followed(
            SourceColumns(7, (ID, SourceColumn(f"c{number}", "text", 2))), number
        )
    assert schema.version == HISTORY_MAX + 6
    assert [each.version for each in schema.history] == list(range(7, HISTORY_MAX + 7))
    entry = CatalogEntry(key="string", row_schema=schema)
    assert decode_entry(encode_entry(entry)) == entry
    assert CatalogEntry(row_schema=FIRST).updated(CatalogEntry(mount="/n")).row_schema == FIRST
