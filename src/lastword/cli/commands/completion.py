"""``lastword completion``: the script that teaches a shell our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_INSTALL = {
    "bash": 'eval "$(lastword completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(lastword completion zsh)"  # in ~/.zshrc, after compinit',
    "fish": "lastword completion fish | source  # in ~/.config/fish/config.fish",
}


@click.command(
    epilog="Put one of these into your shell's start file:\n\n\b\n" + "\n".join(_INSTALL.values())
)
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
def completion(shell: str) -> None:
    """Print the completion script for SHELL."""
    from lastword.cli.main import lastword

    shell_class = get_completion_class(shell)
    assert shell_class is not None  # noqa: S101 - click ships all three
    script = shell_class(lastword, {}, "lastword", "_LASTWORD_COMPLETE")
    click.echo(script.source())
