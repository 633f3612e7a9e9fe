"""``lastword schema``: the schemas of a registry, and the versions that live keys hold."""

from __future__ import annotations

from pathlib import Path

import click

from lastword.cli.subcommands.schema_use import check, rewrite
from lastword.cli.support.app_context import AppContext, with_app
from lastword.errors import ConfigError, LastwordError


@click.group()
def schema() -> None:
    """List, show, register and compare schemas; check and rewrite the values of a table."""


schema.add_command(check)
schema.add_command(rewrite)


@schema.command("list")
@with_app
def list_(app: AppContext) -> None:
    """List the subjects of the registry."""
    client = app.registry.client
    rows = []
    for subject in client.subjects():
        newest = client.version(subject)
        rows.append(
            {
                "subject": subject,
                "kind": None if newest is None else newest.schema_type,
                "newest": None if newest is None else newest.version,
                "schema_id": None if newest is None else newest.id,
            }
        )
    if not app.output.rows(("subject", "kind", "newest", "schema_id"), rows):
        app.output.info("the registry has no subjects")


@schema.command()
@with_app
@click.argument("subject")
@click.option("--version", type=int, help="Which version.  [default: the newest]")
def show(app: AppContext, subject: str, version: int | None) -> None:
    """Print the schema of SUBJECT. Values of TABLE have the subject TABLE-value."""
    from lastword.cli.subcommands.schema_text import found_version, shown

    found = found_version(app.registry.client, subject, version)
    values = {
        "subject": found.subject,
        "version": found.version,
        "schema_id": found.id,
        "kind": found.schema_type,
        "schema": found.schema,
        "references": [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in found.references
        ],
    }
    app.output.line(shown(found.content), values)


@schema.command()
@with_app
@click.argument("subject")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--kind",
    type=click.Choice(["avro", "json-schema", "protobuf"]),
    help="The kind of schema.  [default: by its suffix: .avsc, .json, .proto]",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME=SUBJECT:VERSION",
    help="A schema that this one refers to by NAME; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Only ask whether the registry would accept it.")
def register(
    app: AppContext,
    subject: str,
    file: Path,
    *,
    kind: str | None,
    references: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Make the schema in FILE the newest version of SUBJECT, if it is compatible.

    A new schema of keys is announced with a warning: it changes the bytes of every key.
    """
    from lastword.cli.subcommands.schema_text import read_schema
    from lastword.codecs.registry.write_schema import would_move_keys

    client = app.registry.client
    given = read_schema(file, kind, references)
    if (why := client.why_incompatible(subject, given)) is not None:
        raise ConfigError(
            f"the schema is incompatible with {subject}: {why}",
            hint="give new fields a default; lastword schema show prints the newest one",
        )
    warning = None if subject.endswith("-value") else would_move_keys(client, subject, given)
    if warning is not None and (subject.endswith("-key") or _is_of_keys(app, subject)):
        app.output.info(f"warning: {warning}")
    schema_id = None if dry_run else client.register(subject, given).id
    what = "is compatible" if dry_run else f"has the id {schema_id}"
    values = {"subject": subject, "schema_id": schema_id, "dry_run": dry_run}
    app.output.line(f"{file.name} {what}", values)


def _is_of_keys(app: AppContext, subject: str) -> bool:
    """Whether the catalog says that keys have this subject; False if it cannot be asked."""
    try:
        return any(entry.key_subject == subject for entry in app.catalog.values())
    except LastwordError:
        return False


@schema.command()
@with_app
@click.argument("subject")
@click.argument("old", type=int, required=False)
@click.argument("new", type=int, required=False)
def diff(app: AppContext, subject: str, old: int | None, new: int | None) -> None:
    """Show what changed in SUBJECT from version OLD to NEW; by default, the last change."""
    from lastword.cli.subcommands.schema_text import difference, found_version

    client = app.registry.client
    later = found_version(client, subject, new)
    before = [each for each in client.versions(subject) if each < later.version]
    if old is None and not before:
        raise ConfigError(f"{subject} has no version before {later.version}")
    earlier = found_version(client, subject, max(before) if old is None else old)
    lines = difference(earlier, later)
    values = {"subject": subject, "old": earlier.version, "new": later.version, "lines": lines}
    app.output.line("\n".join(lines) or "no difference", values)
