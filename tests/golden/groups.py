# SPDX-License-Identifier: Apache-2.0
"""A group: a ground, and the runs that stand on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.golden.running import Act, Run

JSON = "--format json"
TABLE = f"check table orders {JSON}"
REPAIR = "repair table orders --max-fraction 1"
_SHORT = {"JSON": JSON, "TABLE": TABLE, "REPAIR": REPAIR}


@dataclass(frozen=True)
class Group:
    """A ground, and runs that find it as the earlier ones left it."""

    name: str
    ground: Act
    runs: tuple[Run, ...]


def runs(
    table: str, *, files: Mapping[str, str] | None = None, before: Mapping[str, Act] | None = None
) -> tuple[Run, ...]:
    """The runs of a table, a line each: `name: command | argument with blanks`.

    Words in capitals stand for what most commands begin with. By name, which files a run writes,
    and what happens to the data before it.
    """
    writes, acts = files or {}, before or {}
    found = []
    for line in table.strip().split("\n"):
        name, typed = line.strip().split(": ", 1)
        command, *more = typed.split(" | ")
        spelled = " ".join(_SHORT.get(word, word) for word in command.split(" "))
        written = (writes[name],) if name in writes else ()
        found.append(Run(name, spelled, tuple(more), before=acts.get(name), files=written))
    unknown = (writes.keys() | acts.keys()) - {run.name for run in found}
    assert not unknown, f"no such run: {unknown}"
    return tuple(found)
