"""The ``lastword`` command: finds the file of a subcommand by its name and loads only that."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from lastword import __version__
from lastword.cli.support.app_context import AppContext, SharedOption
from lastword.cli.support.failure import CommandFailure
from lastword.errors import LastwordError

# command -> (module, what it does). Named here so that --help needs to load none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("up", "Run a broker, tables, their service and pipelines on this machine until Ctrl-C."),
    "get": ("data.get", "Print the value of a key."),
    "put": ("data.put", "Write one record, or key:value lines from standard input."),
    "increment": ("data.increment", "Add to a number; concurrent increments are never lost."),
    "delete": ("data.delete", "Delete keys by writing tombstones."),
    "ls": ("data.ls", "List keys and values in key order."),
    "count": ("data.ls", "Count the keys."),
    "watch": ("data.watch", "Print every change as it happens."),
    "log": (
        "data.log",
        "Print every record still in the log, superseded ones and tombstones included.",
    ),
    "tables": ("tables", "List the tables of the catalog and of lastword.toml."),
    "describe": ("tables", "Describe a table: codecs, who writes it, settings, sizes."),
    "schema": ("schema", "List, show and register schemas; check and rewrite old versions."),
    "lock": ("lock", "Run a command while holding a lock that all instances share."),
    "cluster": ("cluster", "Show the instances of an application and their partitions; drain one."),
    "history": ("data.history", "Print every known change of a key, from its history and the log."),
    "serve": ("serve", "Serve tables over HTTP until Ctrl-C."),
    "token": ("token", "Create, list and revoke the tokens of the service."),
    "pipeline": ("pipeline", "Run data pipelines on Spark, and show their progress."),
    "snapshot": ("snapshot", "Take, list and show snapshots of a table."),
    "topic": ("topic", "Create, check, describe, alter and delete topics; see their compaction."),
    "broker": ("broker", "Start, stop and inspect the local broker."),
    "cdc": ("cdc", "Mirror tables of a database, and look after their capture."),
    "connect": ("connect", "Start, stop and inspect the local Kafka Connect worker."),
    "state": ("state", "Show the local state directory."),
    "wipe": ("wipe", "Delete the local state of a table; it is rebuilt from the topic."),
    "bench": ("bench", "Compare compacted and standard topics on this cluster."),
    "estimate": ("estimate", "Estimate compaction, a Bloom filter or a restore."),
    "completion": ("completion", "Print the shell completion script."),
}


class LazyGroup(click.Group):
    """Imports the module of a command when it is used, and turns errors into exits."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of COMMANDS, which is the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The module's attribute of the command's name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"lastword.cli.commands.{COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - our own module
        _put_shared_options_last(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name without loading any of them."""
        names = [
            CompletionItem(name, help=help_line)
            for name, (_, help_line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a LastwordError becomes its message, hint and exit status."""
        app = ctx.ensure_object(AppContext)
        try:
            return super().invoke(ctx)
        except LastwordError as error:
            raise CommandFailure(error, json_lines=app.json_lines) from error


def _put_shared_options_last(command: click.Command) -> None:
    """List a command's own options before the shared ones in its --help."""
    command.params.sort(key=lambda parameter: isinstance(parameter, SharedOption))
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _put_shared_options_last(below)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="lastword")
def lastword() -> None:
    """Compacted Kafka topics as tables: query, write, watch, and rebuild in seconds.

    Without --bootstrap-servers, commands use the broker of this machine: start it with
    `lastword up` or `lastword broker start`.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the ``lastword`` script."""
    app = AppContext()
    # What a command keeps, and what it starts keeps, is for this user alone.
    app.users_umask = os.umask(0o077)
    lastword(arguments, prog_name="lastword", obj=app)
