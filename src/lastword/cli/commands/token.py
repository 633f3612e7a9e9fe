"""``lastword token``: who may do what over HTTP."""

from __future__ import annotations

import click

from lastword.cli.support.app_context import AppContext, with_app
from lastword.cli.support.output import as_time


@click.group()
def token() -> None:
    """Create, list and revoke the tokens of the service."""


@token.command()
@with_app
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="[TABLE=]SCOPE",
    help="read, write or admin, for one table or for all; repeatable.",
)
def create(app: AppContext, name: str, scopes: tuple[str, ...]) -> None:
    """Create a token called NAME and show it, this once; only its hash is kept.

    write includes read; admin includes both, and operations that read a whole log.
    """
    from lastword.cli.settings.service_settings import token_file
    from lastword.service.http.tokens import parse_scope

    secret = token_file(app).create(name, dict(parse_scope(each) for each in scopes))
    app.output.line(secret, {"name": name, "token": secret})


@token.command("list")
@with_app
def list_(app: AppContext) -> None:
    """List the tokens by name; the tokens themselves are not kept."""
    from lastword.cli.settings.service_settings import token_file

    rows = [
        {
            "name": each.name,
            "scopes": " ".join(f"{table}={scope}" for table, scope in each.scopes.items()),
            "created": as_time(each.created_ms),
        }
        for each in token_file(app).tokens()
    ]
    app.output.rows(("name", "scopes", "created"), rows)


@token.command()
@with_app
@click.argument("name")
def revoke(app: AppContext, name: str) -> None:
    """Revoke the token called NAME, also in running services."""
    from lastword.cli.settings.service_settings import token_file

    token_file(app).revoke(name)
    app.output.line(f"revoked {name}", {"name": name, "revoked": True})
