# SPDX-License-Identifier: Apache-2.0
"""What click has to say about a command line, in the words and the form of all our errors."""

import re

import click

from scrub.catalog.spelling import closest
from scrub.errors import ScrubError, UsageError

_NOT_A_CHOICE = re.compile(r"'(?P<typed>.*)' is not one of ")

_NO_VALUE = re.compile(r"requires (an argument|\d+ arguments)")
_EXTRA = re.compile(r"got unexpected extra arguments? \((?P<words>.*)\)$", re.DOTALL)


def explained(mistake: click.ClickException) -> ScrubError:
    """The mistake with what to do about it."""
    context = getattr(mistake, "ctx", None)
    if isinstance(mistake, click.BadOptionUsage) and _NO_VALUE.search(mistake.message):
        return UsageError(f"{mistake.option_name} needs a value")
    if not isinstance(context, click.Context):
        return UsageError(_plain(mistake.format_message()))
    match mistake:
        case click.NoSuchOption():
            return _no_such_option(mistake.option_name, context)
        case click.MissingParameter():
            name = "a value" if mistake.param is None else _name_of(mistake.param)
            return UsageError(f"{context.command_path} needs {name}", hint=_usage(context))
        case click.BadParameter() if mistake.param is not None:
            hint = _close_choice(mistake.param, mistake.message) or _see_help(context)
            return UsageError(f"{_name_of(mistake.param)}: {_plain(mistake.message)}", hint=hint)
    message = _plain(mistake.format_message())
    if extra := _EXTRA.match(message):
        message = f"{context.command_path} has no use for {extra['words']}"
    return UsageError(message, hint=_usage(context))


def _no_such_option(typed: str, context: click.Context) -> UsageError:
    command = context.command
    own, below = _options(command), _options_below(command, context)
    if typed in below:
        hint = f"write {typed} after the command that it is for"
    elif close := _closest_option(typed, own | below):
        hint = f"did you mean {close}?"
    else:
        hint = _see_help(context)
    return UsageError(f"{context.command_path} has no option {typed}", hint=hint)


def _closest_option(typed: str, known: set[str]) -> str | None:
    """Without the dashes, by which all options are alike."""
    names = {option.lstrip("-"): option for option in known}
    close = closest(typed.lstrip("-"), names)
    return names[close] if close else None


def _options(command: click.Command) -> set[str]:
    options = [of for of in command.params if isinstance(of, click.Option)]
    return {"--help"}.union(*(of.opts + of.secondary_opts for of in options))


def _options_below(command: click.Command, context: click.Context) -> set[str]:
    """The options of all commands of a group."""
    if not isinstance(command, click.Group):
        return set()
    names = command.list_commands(context)
    found = filter(None, (command.get_command(context, name) for name in names))
    return set().union(*(_options(of) | _options_below(of, context) for of in found)) - {"--help"}


def _close_choice(parameter: click.Parameter, message: str) -> str | None:
    choice = _NOT_A_CHOICE.match(message)
    if choice is None or not isinstance(parameter.type, click.Choice):
        return None
    close = closest(choice["typed"], map(str, parameter.type.choices))
    return f"did you mean {close}?" if close else None


def _name_of(parameter: click.Parameter) -> str:
    """As it is written: `--index`, or `TABLE`."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name.removesuffix("...")


def _usage(context: click.Context) -> str:
    _, _, usage = context.get_usage().partition(": ")
    return f"usage: {' '.join(usage.split())}"


def _see_help(context: click.Context) -> str:
    return f"to see the options: {context.command_path} --help"


def _plain(message: str) -> str:
    """A sentence of click as we write them."""
    return message[:1].lower() + message[1:].removesuffix(".")
