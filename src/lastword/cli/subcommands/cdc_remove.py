"""``lastword cdc remove``: ends a capture, and leaves nothing behind in the database."""

from __future__ import annotations

import click

from lastword.cdc.postgres.capture_spec import forget_capture
from lastword.cli.captures.capture_leftovers import leftovers_of
from lastword.cli.captures.capture_settings import capture_named, capture_of, captures_directory
from lastword.cli.support.app_context import AppContext, confirm, with_cluster
from lastword.cli.support.sizes import as_size


@click.command()
@with_cluster
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(app: AppContext, name: str, yes: bool) -> None:
    """End the capture NAME: delete its connector, its replication slot and its publication.

    Deleting only the connector would leave the slot, and the database would keep its log for it
    until the disk is full. The topics stay, and the command names them. Asks first.
    """
    spec = capture_named(app, name)
    capture = capture_of(app, spec)
    source = spec.source
    slot = capture.slot()
    held = "" if slot is None else f", for which the database keeps {as_size(slot.held_bytes)}"
    confirm(
        f"Delete the connector {source.connector}, the publication {source.publication} and the "
        f"slot {source.slot}{held}?",
        assume_yes=yes,
    )
    capture.remove()
    forget_capture(captures_directory(app), name)
    left = leftovers_of(app, spec)
    lines = "".join(f"\n  {line}" for line in left.lines())
    app.output.line(
        f"removed {name}: connector, slot and publication are gone. These stay:{lines}",
        {
            "capture": name,
            "removed": True,
            "topics": list(left.topics),
            "group": left.group,
            "state": None if left.state is None else str(left.state),
            "subject": left.subject,
        },
    )
    app.output.info(
        f"to capture {name} again later, keep all of these topics or delete all of them: the "
        "pipeline refuses to continue with a part of its results"
    )
    if name in app.settings.captures:
        app.output.info(f"delete [cdc.{name}] from lastword.toml, or the next `up` starts it again")
