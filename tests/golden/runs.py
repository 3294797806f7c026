# SPDX-License-Identifier: Apache-2.0
"""The runs of the golden set, by the ground they stand on; those of a group run in this order."""

from functools import partial

from tests.golden import grounds
from tests.golden.groups import JSON, Group
from tests.golden.running import Run
from tests.golden.runs_in_delta import IN_DELTA
from tests.golden.runs_in_files import IN_FILES
from tests.golden.runs_in_postgres import IN_POSTGRES
from tests.golden.runs_of_pairs import PAIRS


def _scenarios(store: str, *ways: tuple[str, str]) -> Group:
    """All scenario folders of a store in each way, with its plan."""
    runs = []
    for engine, strategy in ways:
        way = f"--engine {engine} --strategy {strategy}"
        every = f"check database {way} --limit 1000 {JSON}"
        runs += [
            Run(f"{engine}-{strategy}", every),
            Run(f"{engine}-{strategy}-plan", f"{every} --explain"),
        ]
    runs.append(Run("text", "check database --limit 1000"))
    return Group(f"scenarios-{store}", partial(grounds.scenarios, store=store), tuple(runs))


def _refused(store: str) -> Group:
    runs = (
        Run(f"{name}{suffix}", f"check database --catalog {name}/scrub.yaml {JSON}{option}")
        for name in grounds.refused_names()
        for suffix, option in (("", ""), ("-plan", " --explain"))
    )
    ground = partial(grounds.refused_scenarios, store=store)
    return Group(f"scenarios-refused-{store}", ground, tuple(runs))


SCENARIOS = (
    _scenarios("delta", ("auto", "fingerprint"), ("sql", "merge")),
    _scenarios("parquet", ("auto", "merge"), ("sql", "fingerprint")),
    _refused("delta"),
    _refused("parquet"),
    Group(
        "scenarios-healthy",
        partial(grounds.scenarios, store="parquet", healthy=True),
        (Run("auto-auto", f"check database {JSON}"),),
    ),
)

DEMO = Group("demo", lambda _: None, (Run("demo", "demo --rows 1000 --keep kept"),))

GROUPS: tuple[Group, ...] = (*SCENARIOS, *IN_DELTA, *IN_FILES, *IN_POSTGRES, *PAIRS, DEMO)
