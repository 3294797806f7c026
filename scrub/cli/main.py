# SPDX-License-Identifier: Apache-2.0
"""The `scrub` command: its list of commands, and the one place where errors become exit codes."""

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from scrub import __version__, unused_libraries
from scrub.cli import interrupts, standard_streams
from scrub.cli.groups import Group
from scrub.errors import ScrubError
from scrub.redaction import redacted

# Codes of their own: click's 1 for an abort and Python's 1 for a traceback mean "defects found".
USAGE_EXIT_CODE = 2
UNEXPECTED_EXIT_CODE = 70
INTERRUPTED_EXIT_CODE = 130
READER_GONE_EXIT_CODE = 141


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command is, and the sentence that `--help` shows beside its name."""

    target: str  # "module:attribute"
    help: str

    def load(self) -> click.Command:
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(Group):
    """Starting Spark's imports takes longer than a person waits for a list of commands."""

    def __init__(self, *, lazy_commands: Mapping[str, LazyCommand], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        lazy = self.lazy_commands.get(cmd_name)
        return lazy.load() if lazy else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        commands = [
            CompletionItem(name, help=lazy.help)
            for name, lazy in self.lazy_commands.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in self.lazy_commands.items()])


COMMANDS = {
    "check": LazyCommand("scrub.cli.check:check", "Compare tables with their indexes. Reads only."),
    "gate": LazyCommand("scrub.cli.gate:gate", "Fail on defects that are new. Reads only."),
    "index": LazyCommand("scrub.cli.index:index", "Keep indexes in Delta up to date."),
    "backfill": LazyCommand(
        "scrub.cli.backfill:backfill", "Build indexes while applications write."
    ),
    "stream": LazyCommand(
        "scrub.cli.stream:stream", "Build indexes from history and live changes."
    ),
    "repair": LazyCommand(
        "scrub.cli.repair:repair", "Repair indexes, so that they agree with their tables."
    ),
    "undo": LazyCommand("scrub.cli.journal:undo", "Undo a repair."),
    "journal": LazyCommand("scrub.cli.journal:journal", "Show recorded repairs."),
    "catalog": LazyCommand("scrub.cli.catalog:catalog", "Validate or show the catalog."),
    "kv": LazyCommand("scrub.cli.kv:kv", "Write rows as key-value pairs, or show pairs."),
    "gx": LazyCommand("scrub.cli.gx:gx", "Use scrub with Great Expectations."),
    "init": LazyCommand("scrub.cli.init:init", "Write a first catalog from existing tables."),
    "demo": LazyCommand("scrub.cli.demo:demo", "Create a lake, damage it, check it and repair it."),
    "selftest": LazyCommand(
        "scrub.cli.selftest:selftest", "Show on a copy of your table that faults are found."
    ),
    "completion": LazyCommand(
        "scrub.cli.completion:completion", "Complete commands and names in your shell."
    ),
    "prepare": LazyCommand("scrub.cli.prepare:prepare", "Make later starts faster."),
}


@click.group(
    cls=LazyGroup,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="scrub")
def cli() -> None:
    """Find, explain and repair disagreements between tables and their secondary indexes."""


def main() -> NoReturn:
    if asked := os.environ.get("_SCRUB_COMPLETE"):
        from scrub.cli.completing import answer

        sys.exit(answer(cli, asked))
    standard_streams.attach()
    unused_libraries.leave_out()
    interrupts.listen()
    try:
        sys.exit(run(sys.argv[1:]))
    finally:
        interrupts.leave_if_one_came()


def run(arguments: Sequence[str]) -> int:
    """The exit code of one command line; not click's `main`, whose codes mean something else."""
    try:
        with cli.make_context("scrub", list(arguments)) as context:
            cli.invoke(context)
        interrupts.demand_no_signal()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as mistake:
        _print_usage_mistake(mistake)
        return USAGE_EXIT_CODE
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except ScrubError as error:
        if interrupts.exit_code() is not None:
            return _interrupted()
        _print_error(error)
        return error.exit_code
    except BrokenPipeError:
        # What is still buffered would fail again, loudly, when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE_EXIT_CODE
    except Exception as error:  # noqa: BLE001 - the last boundary
        if interrupts.exit_code() is not None:
            return _interrupted()
        if told := _told_by_spark(error):
            _print_error(told)
            return told.exit_code
        _print_lines(redacted(traceback.format_exc()).rstrip("\n"))
        click.echo("error: this is a mistake in scrub; please report the lines above", err=True)
        return UNEXPECTED_EXIT_CODE
    return 0


def _interrupted() -> int:
    click.echo("interrupted", err=True)
    return interrupts.exit_code() or INTERRUPTED_EXIT_CODE


def _told_by_spark(error: Exception) -> ScrubError | None:
    """What is the matter with the user's Spark, if an error that nobody expected says so."""
    if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark", "scrub"):
        return None
    from scrub.spark.failures import explained

    return explained(error)


def _print_usage_mistake(mistake: click.ClickException) -> None:
    if type(mistake).__name__ == "NoArgsIsHelpError":  # which earlier versions of click have not
        mistake.show()
        return
    from scrub.cli.usage_mistakes import explained

    _print_error(explained(mistake))


def _print_error(error: ScrubError) -> None:

    # Line by line: a message may have several, but no file name may write to the terminal.
    _print_lines(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))


def _print_lines(text: str) -> None:
    from scrub.cli.screens import tell

    for line in text.split("\n"):
        tell(line)
