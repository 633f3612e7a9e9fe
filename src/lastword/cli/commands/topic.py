"""``lastword topic``: create, list, describe, check, alter and delete topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import click

from lastword.catalog.catalog_entry import CatalogEntry
from lastword.cli.subcommands.topic_compaction import compaction
from lastword.cli.subcommands.topic_copy import copy
from lastword.cli.subcommands.topic_partition import partition
from lastword.cli.support.app_context import (
    AppContext,
    confirm,
    with_cluster,
    with_cluster_and_own_config,
)
from lastword.cli.support.cataloging import put_into_catalog, take_out_of_catalog
from lastword.cli.support.table_options import CODEC_NAMES, WITH_SCHEMA
from lastword.errors import ConfigError, TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.topics.check import check_topic
from lastword.topics.creation import DEFAULT_PARTITIONS, DEFAULT_REPLICATION, create_topic
from lastword.topics.profiles import DEFAULT_PROFILE, PROFILES


@click.group()
def topic() -> None:
    """Create, check, describe, alter and delete topics; see their compaction."""


topic.add_command(compaction)
topic.add_command(partition)
topic.add_command(copy)

_PROFILE_HELP = "; ".join(f"{profile.name}: {profile.purpose}" for profile in PROFILES.values())


@topic.command()
@with_cluster_and_own_config
@click.argument("name")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    default=DEFAULT_PARTITIONS,
    show_default=True,
    help="How many partitions. The number cannot change later: keys would move.",
)
@click.option(
    "--replication",
    type=click.IntRange(min=1),
    default=DEFAULT_REPLICATION,
    show_default=True,
    help="How many brokers keep a copy.",
)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default=DEFAULT_PROFILE,
    show_default=True,
    help=f"The settings to start from. {_PROFILE_HELP}.",
)
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the topic, over the profile's; repeatable.",
)
@click.option(
    "--key-codec",
    type=click.Choice([*CODEC_NAMES, *WITH_SCHEMA]),
    help="The codec of keys, for the catalog.",
)
@click.option(
    "--value-codec",
    type=click.Choice([*CODEC_NAMES, *WITH_SCHEMA]),
    help="The codec of values, for the catalog.",
)
@click.option("--description", metavar="TEXT", help="What the table is for; for the catalog.")
def create(
    app: AppContext,
    name: str,
    *,
    partitions: int,
    replication: int,
    profile: str,
    settings: tuple[str, ...],
    key_codec: str | None,
    value_codec: str | None,
    description: str | None,
) -> None:
    """Create the compacted topic NAME.

    For example: lastword topic create user-profiles --config delete.retention.ms=86400000

    The catalog lists it from then on (lastword tables). Codecs and a description are stored there,
    where every command finds them.
    """
    with Admin(app.connection) as admin:
        info = create_topic(
            admin,
            name,
            partitions=partitions,
            replication=replication,
            profile=profile,
            settings=parse_settings(settings),
        )
        own = _own_settings(admin, name)
    shown = {
        "topic": name,
        "topic_id": info.topic_id,
        "partitions": info.partitions,
        "replication": info.replication,
        "settings": own,
    }
    listed = "".join(f"\n  {key}={value}" for key, value in own.items())
    app.output.line(f"created {name} with {info.partitions} partitions{listed}", shown)
    entry = CatalogEntry(key=key_codec, value=value_codec, description=description)
    if entry != CatalogEntry() or "compact" in own["cleanup.policy"]:
        put_into_catalog(app, name, entry)


@topic.command("list")
@with_cluster
def list_topics(app: AppContext) -> None:
    """List the topics of the cluster, except Kafka's own."""
    columns = ("topic", "partitions", "replication", "cleanup_policy")
    with Admin(app.connection) as admin:
        app.output.rows(columns, _listed(admin))


def _listed(admin: Admin) -> Iterable[dict[str, object]]:
    for name in admin.topics():
        try:
            info, settings = admin.describe(name), admin.settings(name)
        except TopicNotFoundError:
            continue  # deleted since it was listed
        yield {
            "topic": name,
            "partitions": info.partitions,
            "replication": info.replication,
            "cleanup_policy": settings["cleanup.policy"],
        }


@topic.command()
@with_cluster
@click.argument("name")
@click.option("--all", "every", is_flag=True, help="All settings, not only the topic's own.")
def describe(app: AppContext, name: str, every: bool) -> None:
    """Describe the topic NAME: identity, settings, and each partition's replicas and offsets."""
    with Admin(app.connection) as admin:
        info = admin.describe(name)
        numbers = range(info.partitions)
        bounds = admin.bounds_answered(name, numbers)
        settings = [
            {"setting": key, "value": found.value, "source": found.source}
            for key, found in sorted(admin.setting_sources(name).items())
            if every or found.source == "topic"
        ]
    layout: list[Mapping[str, object]] = [
        {
            **asdict(each),
            "log_start": None if found is None else found.start,
            "stable_end": None if found is None else found.stable_end,
            "log_end": None if found is None else found.end,
        }
        for each in info.layout
        for found in [bounds.get(each.partition)]
    ]
    summary: dict[str, object] = {
        "topic": name,
        "topic_id": info.topic_id,
        "partitions": info.partitions,
        "replication": info.replication,
    }
    if app.json_lines:
        app.output.details({**summary, "settings": settings, "layout": layout})
        return
    app.output.details(summary)
    app.output.line("", {})
    app.output.rows(("setting", "value", "source"), settings)
    app.output.line("", {})
    app.output.rows(list(layout[0]), layout)


@topic.command()
@with_cluster
@click.argument("name")
@click.option("--partitions", type=int, help="How many partitions it should have.")
@click.option("--allow-expiry", is_flag=True, help="Accept compact,delete: old rows disappear.")
def check(app: AppContext, name: str, partitions: int | None, allow_expiry: bool) -> None:
    """Check whether the topic NAME is fit for a table, and print how to repair each problem.

    Exit status 1 when there is an error: a table would refuse the topic.
    """
    with Admin(app.connection) as admin:
        found = check_topic(admin, name, partitions=partitions, allow_expiry=allow_expiry)
    for finding in found:
        text = (
            f"{finding.severity}: {finding.setting} is {finding.found}, wanted {finding.wanted}\n"
            f"  consequence: {finding.consequence}\n"
            f"  repair:      {finding.repair}"
        )
        app.output.line(text, asdict(finding))
    errors = sum(finding.severity == "error" for finding in found)
    app.output.info(f"{name} is {'not fit' if errors else 'fit'} for a table")
    if errors:
        click.get_current_context().exit(1)


@topic.command()
@with_cluster_and_own_config
@click.argument("name")
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting and its new value; repeatable.",
)
@click.option(
    "--reset",
    "resets",
    multiple=True,
    metavar="KEY",
    help="A setting to reset to the broker's default; repeatable.",
)
def alter(
    app: AppContext, name: str, *, settings: tuple[str, ...], resets: tuple[str, ...]
) -> None:
    """Change settings of the topic NAME; those not named stay as they are."""
    changes: dict[str, str | None] = {**parse_settings(settings), **dict.fromkeys(resets)}
    if not changes:
        raise click.UsageError("Nothing to change: give --config KEY=VALUE or --reset KEY.")
    with Admin(app.connection) as admin:
        admin.alter(name, changes)
        found = admin.setting_sources(name)
    app.output.rows(
        ("setting", "value", "source"),
        [{"setting": key, **found[key]._asdict()} for key in changes if key in found],
    )


@topic.command()
@with_cluster
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(app: AppContext, name: str, yes: bool) -> None:
    """Delete the topic NAME and every record in it, for good."""
    with Admin(app.connection) as admin:
        admin.describe(name)
        confirm(f"Delete the topic {name} with all its records?", assume_yes=yes)
        admin.delete(name)
    take_out_of_catalog(app, name)
    app.output.line(f"deleted {name}", {"topic": name, "deleted": True})


def parse_settings(given: Iterable[str]) -> dict[str, str]:
    """``KEY=VALUE`` words as a mapping."""
    parsed = {}
    for word in given:
        key, separator, value = word.partition("=")
        if not (key.strip() and separator):
            raise ConfigError(
                f"{word!r} is not a setting of a topic",
                hint="write KEY=VALUE, such as cleanup.policy=compact",
            )
        parsed[key.strip()] = value.strip()
    return parsed


def _own_settings(admin: Admin, name: str) -> dict[str, str]:
    found = admin.setting_sources(name)
    return {key: each.value for key, each in sorted(found.items()) if each.source == "topic"}
