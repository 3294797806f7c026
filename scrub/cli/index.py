# SPDX-License-Identifier: Apache-2.0
"""`scrub index`: indexes in Delta that follow their table."""

import time
from typing import TYPE_CHECKING, Any, NoReturn

import click

from reports.escaping import printable
from scrub.cli import completing, options
from scrub.cli.groups import Group
from scrub.cli.screens import show_prose, tell
from scrub.model.command_line import command_line
from scrub.model.request import SparkOptions

if TYPE_CHECKING:
    from scrub.app.building.follow import FollowRequest, FollowRound
    from scrub.stores.delta.following import Followed, FollowedVersion


@click.group(cls=Group, for_tables="follow")
def index() -> None:
    """Keep indexes in Delta up to date with their tables."""


@index.command()
@options.table
@click.argument("indexes", nargs=-1, metavar="[INDEX]...",
                shell_complete=completing.indexes)  # fmt: skip
@click.option("--every", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="Keep running, and look for new versions at this interval.")  # fmt: skip
@click.option("--from", "from_version", type=click.IntRange(min=0), metavar="VERSION",
              help="For an index that does not follow yet: the table version that it "
              "shows.")  # fmt: skip
@options.catalog
@options.spark_options
def follow(every: float | None, spark_options: SparkOptions, **given: Any) -> NoReturn:
    """Bring indexes of TABLE up to its latest version, one commit at a time.

    Without INDEX, this applies to all indexes that follow the table. The exit code is 0 if they are
    up to date, 1 if entries to be deleted did not exist (check the index), and 3 if an index can no
    longer be followed.
    """
    from scrub.app.building.follow import FollowRequest, follow_always, follow_once

    request = FollowRequest(**given)
    if every is None:
        done = follow_once(request, spark_options=spark_options, on_step=_show_step)
        _show_round(request, done)
        raise SystemExit(done.exit_code)
    show = [_show_round]  # once; later only what happens

    def on_round(done: "FollowRound") -> None:
        (show.pop() if show else _show_refusals)(request, done)

    done = follow_always(
        request, every, spark_options=spark_options, on_step=_show_step, on_round=on_round
    )
    raise SystemExit(done.exit_code)


def _show_step(name: str, step: "FollowedVersion") -> None:
    if step.loaded:
        what = f"loaded again, {step.added:,} entries"
    elif step.added or step.taken or step.absent:
        what = f"{step.added:,} put, {step.taken:,} deleted"
        what += f", {step.absent:,} to be deleted were not there" if step.absent else ""
    else:
        what = "nothing to change"
    moment = time.strftime("%H:%M:%S")
    tell(f"{moment}  {name}  version {step.version:,}: {what}")


def _show_round(request: "FollowRequest", done: "FollowRound") -> None:
    for one in done.followed:
        line = f"{request.table}.{one.index}: {_sentence(one)}"
        if any(step.absent for step in one.steps):
            named = (request.table, "--index", one.index)
            check = command_line("check table", *named, catalog=request.catalog)
            line += f"; to check the index: {check}"
        show_prose(printable(line))
    for name in done.passed_over:
        show_prose(printable(f"{request.table}.{name}: does not follow its table"))
    _show_refusals(request, done)


def _sentence(one: "Followed") -> str:
    added, taken = (sum(getattr(s, name) for s in one.steps) for name in ("added", "taken"))
    absent = sum(step.absent for step in one.steps)
    versions = one.version - one.first
    done = f"shows version {one.version:,}"
    if versions:
        plural = "" if versions == 1 else "s"
        done += f", {versions:,} version{plural} applied: {added:,} put, {taken:,} deleted"
    else:
        done += ", was up to date"
    if one.lag > 0:
        done += f"; {one.lag:,} behind"
    if absent:
        done += f"; {absent:,} entries to be deleted were not there"
    return done


def _show_refusals(request: "FollowRequest", done: "FollowRound") -> None:
    for name, error in done.refused:
        tell(f"error: {request.table}.{name}: {error}")
        if error.hint:
            tell(f"hint: {error.hint}")
