# SPDX-License-Identifier: Apache-2.0
"""What a shell offers when Tab is pressed: commands, options, and the names in the catalog.

Between two keys there is no time for Spark or Delta, and no place for an error: what cannot be
read at once is not offered.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

from scrub.model.command_line import DEFAULT_CATALOG

VARIABLE = "_SCRUB_COMPLETE"
_NOT_PLAIN = re.compile(r"([^\w@%+=:,./-])")


class _Bash(BashComplete):
    """Bash takes what it is given as it is, so blanks and quotes in a name must be escaped."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def format_completion(self, item: CompletionItem[Any]) -> str:
        escaped = _NOT_PLAIN.sub(r"\\\1", str(item.value))
        return f"{item.type},{escaped}"


SHELLS: Mapping[str, type[ShellComplete]] = {
    "bash": _Bash,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


def script(cli: click.Command, shell: str) -> str:
    """What makes a shell ask scrub when Tab is pressed."""
    return SHELLS[shell](cli, {}, "scrub", VARIABLE).source()


def answer(cli: click.Command, asked: str) -> int:
    """Print what fits the line that the environment holds; an exit code, and never an error."""
    shell = SHELLS.get(asked.removesuffix("_complete"))
    if shell is None:
        return 1
    try:
        found = shell(cli, {}, "scrub", VARIABLE).complete()
    except Exception:  # noqa: BLE001 - a traceback would land in the line that is being typed
        return 1
    click.echo(found.encode())
    return 0


def tables(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from scrub.cli.catalog_names import names_in

    return _fitting(names_in(_catalog(context)), typed, _given(context, parameter))


def indexes(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Those of the tables that the line names, or else of all."""
    from scrub.cli.catalog_names import names_in

    known = names_in(_catalog(context))
    named = [*_words(context.params.get("table")), *_words(context.params.get("tables"))]
    # Where the value of an option is typed, click has not told the arguments before it apart.
    of = [table for table in (*named, *context.args) if table in known] or known
    names = dict.fromkeys(index for table in of for index in known[table])
    return _fitting(names, typed, _given(context, parameter))


def runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from scrub.cli.catalog_names import runs_in

    return _fitting(runs_in(_catalog(context)), typed, _given(context, parameter))


def _catalog(context: click.Context) -> Path:
    return Path(context.params.get("catalog") or DEFAULT_CATALOG)


def _given(context: click.Context, parameter: click.Parameter) -> set[str]:
    return set(_words(context.params.get(parameter.name or "")))


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        yield from map(str, value)


def _fitting(names: Iterable[str], typed: str, given: set[str]) -> list[str]:
    """The names that begin so, without those that the line has already."""
    return [name for name in names if name.startswith(typed) and name not in given]
