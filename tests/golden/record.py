# SPDX-License-Identifier: Apache-2.0
"""Records the golden set: what every run of `runs.py` shows, one file a run.

python -m tests.golden.record [--out DIR] [--only PATTERN]
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.golden.groups import Group
from tests.golden.normalising import Normaliser
from tests.golden.places import Place
from tests.golden.running import Run, readable, run_command
from tests.golden.runs import GROUPS
from tests.small_session import have_quick_jvms, small_session

EXPECTED = Path(__file__).parent / "expected"
_UNDO = re.compile(r'(?:scrub undo |"run": ")([0-9a-f]{12})\b')
_TEMPORARY = "scrub-golden-"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=EXPECTED)
    parser.add_argument("--only", default="*", help="a pattern of names, such as 'delta-*'")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    number = record(given.out, given.only)
    _say(f"{number} runs recorded in {time.monotonic() - began:.0f} s")
    return 0


def record(out: Path, only: str = "*") -> int:
    """Write the records of all chosen runs; all runs of a group that has one of them are run."""
    out.mkdir(parents=True, exist_ok=True)
    if only == "*":
        for old in out.glob("*.json"):
            old.unlink()
    number = 0
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY) as root, _settings(Path(root)):
        for group in GROUPS:
            if any(fnmatch(_name(group, run), only) for run in group.runs):
                for name, shown in _recorded(group, Path(root)):
                    if fnmatch(name, only):
                        text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
                        (out / f"{name}.json").write_text(text, "utf-8")
                        number += 1
    return number


def _recorded(group: Group, root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    place = Place(group.name, root / group.name)
    place.directory.mkdir()
    began = time.monotonic()
    group.ground(place)
    _say(f"{group.name}: ground made in {time.monotonic() - began:.1f} s")
    normaliser = Normaliser(_literals(place, root))
    for run in group.runs:
        if run.before is not None:
            run.before(place)
        began = time.monotonic()
        arguments = run.arguments(place)
        shown = run_command(arguments, place.directory)
        if found := _UNDO.search(shown.stdout):
            place.names["run"] = found[1]
        _say(f"  {run.name}: {shown.exit_code}, {time.monotonic() - began:.1f} s")
        yield (
            _name(group, run),
            {
                "command": ["scrub", *map(normaliser.text, arguments)],
                "exit_code": shown.exit_code,
                "stdout": readable(normaliser.text(shown.stdout)),
                "stderr": readable(normaliser.text(shown.stderr)),
                **_files(run, place, normaliser),
            },
        )


def _files(run: Run, place: Place, normaliser: Normaliser) -> dict[str, Any]:
    if not run.files:
        return {}
    found: dict[str, Any] = {}
    for pattern in run.files:
        for file in sorted(place.directory.glob(pattern)) or [place.directory / pattern]:
            name = str(file.relative_to(place.directory))
            found[name] = _contents(file, normaliser)
    return {"files": found}


def _contents(file: Path, normaliser: Normaliser) -> Any:
    if not file.exists():
        return None
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(file)
        return {"schema": str(table.schema).split("\n"), "rows": [*map(str, table.to_pylist())]}
    return readable(normaliser.text(file.read_text("utf-8")))


def _name(group: Group, run: Run) -> str:
    return f"{group.name}.{run.name}"


def _literals(place: Place, root: Path) -> dict[str, str]:
    """What the machine and the recording put into names."""
    named = {str(place.directory): "<ground>", str(root): "<root>"}
    if "url" in place.names:
        from urllib.parse import quote

        from psycopg import conninfo

        url = place.names["url"]
        host = conninfo.conninfo_to_dict(url).get("host")
        named |= {url: "<url>"} | ({host: "<host>", quote(host, safe=""): "<host>"} if host else {})
    return named


@contextmanager
def _settings(root: Path) -> Iterator[None]:
    """An environment that no machine changes, and one Spark session that all runs borrow."""
    before = dict(os.environ), Path.cwd()
    os.environ |= {"SCRUB_STATE_DIR": str(root / "state"), "COLUMNS": "100", "TERM": "dumb"}
    os.environ["TZ"] = "UTC"
    have_quick_jvms()
    time.tzset()
    os.chdir(root)
    session = small_session(root, time_zone="UTC", adapting=True)
    try:
        yield
    finally:
        session.stop()
        os.chdir(before[1])
        os.environ.clear()
        os.environ.update(before[0])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
