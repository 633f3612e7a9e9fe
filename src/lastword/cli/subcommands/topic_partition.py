"""``lastword topic partition``: where a key belongs, and the proof that it is only there."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.output import as_text
from lastword.cli.support.surveying import survey_with_progress
from lastword.cli.support.table_options import CODEC_NAMES, typed
from lastword.codecs.resolve import key_codec as codec_named
from lastword.kafka.admin import Admin
from lastword.keyspace import Keyspace
from lastword.topics.survey import Survey


@click.command()
@with_cluster
@click.argument("name")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option(
    "--key-codec",
    type=click.Choice(CODEC_NAMES),
    default="string",
    show_default=True,
    help="The codec of keys.",
)
@click.option(
    "--verify", is_flag=True, help="Read the log: is each key in one partition, and in its own?"
)
def partition(
    app: AppContext, name: str, keys: tuple[str, ...], key_codec: str, verify: bool
) -> None:
    """Show to which partition of the topic NAME each KEY goes.

    All clients must agree on that, or compaction keeps two values of one key. --verify finds keys
    that are in more than one partition; exit status 1 when there is one.
    """
    if not keys and not verify:
        raise click.UsageError("Give a KEY, or --verify to check all keys of the topic.")
    codec = codec_named(key_codec)
    encoded = {key: codec.parse(typed(key)) for key in keys}
    with Admin(app.connection) as admin:
        keyspace = Keyspace(admin.describe(name).partitions, codec.suffix_bytes)
        survey = survey_with_progress(app, admin, name) if verify else None
    app.output.rows(
        ("key", "partition"),
        [{"key": key, "partition": keyspace.partition_of(raw)} for key, raw in encoded.items()],
    )
    if survey is not None:
        _report(app, survey)


def _report(app: AppContext, survey: Survey) -> None:
    for key, found in survey.split_keys.items():
        app.output.line(
            f"split: {as_text(key)} is in the partitions {', '.join(map(str, found))}",
            {"key": key, "partitions": found, "fault": "split"},
        )
    for key, where in survey.misplaced_keys.items():
        app.output.line(
            f"misplaced: {as_text(key)} is in partition {where}",
            {"key": key, "partitions": [where], "fault": "misplaced"},
        )
    app.output.info(
        f"{survey.split} keys in more than one partition, {survey.misplaced} in another one than "
        "murmur2 says"
    )
    if survey.split:
        click.get_current_context().exit(1)
