"""``lastword log``: the log as it is, so that a person can see compaction happen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import click
import msgspec

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.output import as_text, as_time
from lastword.cli.support.table_options import TableSpec, with_table
from lastword.cli.support.window_keys import key_object
from lastword.codecs.base import Codec
from lastword.errors import DecodeError, TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.kafka.write.fenced.fence import decode_fence
from lastword.records import FENCE_KEY, Record


@click.command()
@with_table
@click.option("--partition", type=int, multiple=True, help="Only this partition; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="At most this many records.")
def log(app: AppContext, spec: TableSpec, partition: tuple[int, ...], limit: int | None) -> None:
    """Print every record still in the log of TABLE: old values and tombstones included.

    The order is partition by partition and by offset, up to the current end. A record that
    compaction removed leaves a gap in the offsets.
    """
    keys, values = spec.codecs
    records = 0
    for record in islice(_records(app, spec.topic, partition), limit):
        shown = describe_record(record, keys, values)
        app.output.line(as_line(shown), shown)
        records += 1
    app.output.info(f"{records} record{'' if records == 1 else 's'}")


def _records(app: AppContext, topic: str, only: tuple[int, ...]) -> Iterator[Record]:
    with Admin(app.connection) as admin:
        every = range(admin.describe(topic).partitions)
        if unknown := set(only) - set(every):
            raise TopicNotFoundError(
                f"{topic} has no partition {min(unknown)}",
                hint=f"its partitions are 0 to {len(every) - 1}",
            )
        partitions = sorted(only) or list(every)
        bounds = admin.bounds(topic, partitions)
    for partition in partitions:
        # Records after an open transaction are not readable yet, and waiting does not help.
        start, readable, end, _ = bounds[partition]
        for batch in app.log_source.read(topic, {partition: (start, readable)}):
            for offset in batch.unreadable_headers:
                app.output.info(
                    f"{partition}:{offset} has headers that are not shown: "
                    "one of the names is not UTF-8"
                )
            yield from batch.records()
        if readable < end:
            app.output.info(
                f"partition {partition}: an open transaction hides offsets {readable} to {end - 1}"
            )


def describe_record(
    record: Record, keys: Codec[object], values: Codec[object]
) -> dict[str, object]:
    """The JSON shape of a record; one that cannot be decoded has its raw bytes and an ``error``.

    A fence record has what it says as ``fence``, and its key and value are not decoded.
    """
    shown: dict[str, object] = {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": None,
        "value": None,
        "tombstone": record.value is None,
    }
    if record.key == FENCE_KEY and (fence := decode_fence(record.value)) is not None:
        return shown | {
            "key": record.key,
            "value": record.value,
            "fence": msgspec.to_builtins(fence),
        }
    try:
        shown["key"] = record.key  # what stays if decoding fails
        if record.key is not None:
            shown["key"] = key_object(keys.decode(keys.joined(record.key, record.headers)))
        shown["value"] = record.value
        if record.value is not None:
            shown["value"] = values.decode(values.joined(record.value, record.headers))
    except DecodeError as error:
        shown["error"] = str(error)
    if record.headers:
        shown["headers"] = [[name, value] for name, value in record.headers]
    return shown


def as_line(shown: dict[str, object]) -> str:
    """The same for people."""
    time = as_time(int(str(shown["timestamp"])))
    if "fence" in shown:
        return f"{shown['partition']}:{shown['offset']}  {time}  (fence)  {as_text(shown['fence'])}"
    value = "(tombstone)" if shown["tombstone"] else as_text(shown["value"])
    key = "(no key)" if shown["key"] is None else as_text(shown["key"])
    problem = f"  ({as_text(shown['error'])})" if "error" in shown else ""
    return f"{shown['partition']}:{shown['offset']}  {time}  {key}  {value}{problem}"
