# SPDX-License-Identifier: Apache-2.0
"""Records every run again and shows what differs from the golden set.

python -m tests.golden.compare [--only PATTERN] [--with DIR]
"""

import argparse
import difflib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from tests.golden.record import EXPECTED, record


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="a pattern of names, such as 'delta-*'")
    parser.add_argument("--with", dest="recorded", type=Path, help="an earlier recording")
    given = parser.parse_args(arguments)
    if given.recorded is not None:
        return compare(given.recorded, given.only)
    with tempfile.TemporaryDirectory() as directory:
        record(Path(directory), given.only)
        return compare(Path(directory), given.only)


def compare(recorded: Path, only: str = "*") -> int:
    """Print a diff for each run that differs; 1 if there is one, else 0."""
    names = {file.stem for folder in (EXPECTED, recorded) for file in folder.glob("*.json")}
    chosen = sorted(name for name in names if fnmatch(name, only))
    different = 0
    for name in chosen:
        lines = list(_difference(name, recorded))
        different += bool(lines)
        sys.stdout.writelines(lines)
    print(f"{len(chosen) - different} runs equal, {different} differ")  # noqa: T201
    return 1 if different else 0


def _difference(name: str, recorded: Path) -> Iterator[str]:
    expected, found = (_lines(folder / f"{name}.json") for folder in (EXPECTED, recorded))
    return difflib.unified_diff(expected, found, f"expected/{name}", f"recorded/{name}")


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
