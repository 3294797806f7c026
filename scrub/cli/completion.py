# SPDX-License-Identifier: Apache-2.0
"""`scrub completion`: prints what makes a shell complete the commands of scrub."""

import click

from scrub.cli import completing

_SET_UP = """\b
To set it up:
  bash:  echo 'eval "$(scrub completion bash)"' >> ~/.bashrc
  zsh:   echo 'eval "$(scrub completion zsh)"' >> ~/.zshrc
  fish:  scrub completion fish > ~/.config/fish/completions/scrub.fish
"""


@click.command(epilog=_SET_UP)
@click.argument("shell", type=click.Choice(list(completing.SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands, options and names.

    SHELL is bash, zsh or fish. Names of tables, indexes and runs come from the catalog that
    --catalog names, or from scrub.yaml in the current directory.
    """
    click.echo(completing.script(context.find_root().command, shell), nl=False)
