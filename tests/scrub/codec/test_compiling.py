# SPDX-License-Identifier: Apache-2.0
"""Loops are compiled when they are called, once each, kept for other processes, and announced."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrub.codec.compiling.kept import stamp_of_folder
from scrub.codec.compiling.notice import compiling, on_compiling

SOURCES = Path(__file__).parents[3] / "scrub"

FOUND = """
import numpy as np
from scrub.codec.compiling.notice import on_compiling
from scrub.codec import digest_sets
keys = np.array([3, 5, 2**63], dtype=np.uint64)
with on_compiling(lambda: print("compiling")):
    print(digest_sets.found_firsts(digest_sets.set_of_firsts(keys[:2]), keys).tolist())
"""
PAIRS = """
import pyarrow as pa
from scrub.codec.compiling.notice import on_compiling
from scrub.codec.kv.kinds import INT
from scrub.codec.kv.python_datums import to_python
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.ordering import out_of_order
from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvTable
column = KvColumn(1, "id", DatumType(DatumKind.INT), nullable=False)
layout = layout_of([KvTable(52, "t", (column,), (KeyPart(1),), (Family(0, (1,)),), ())])
keys = pa.array([bytes([0xBC, 0x89, 0x88 + number, 0x88]) for number in (1, 3, 2)])
with on_compiling(lambda: print("compiling")):
    print(out_of_order(layout, keys, None)[0])
"""


def run(program: str, where: Path = SOURCES.parent, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=where,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "found"), [(FOUND, "[True, True, False]"), (PAIRS, "[2]")], ids=["digests", "pairs"]
)
def test_what_one_process_compiles_another_one_loads(
    program: str, found: str, tmp_path: Path
) -> None:
    kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(program, **kept) == ["compiling", found]
    assert run(program, **kept) == [found]


def test_a_caller_is_loaded_with_what_it_calls_or_compiles_what_is_gone(tmp_path: Path) -> None:
    kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    run(PAIRS, **kept)
    for callee in tmp_path.rglob("*_put_long_varint*.nb?"):
        callee.unlink()
    assert run(PAIRS, **kept) == ["compiling", "[2]"]


def test_only_what_is_called_is_compiled(tmp_path: Path) -> None:
    run(FOUND, NUMBA_CACHE_DIR=str(tmp_path))
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert kept == {"digest_sets._fill_firsts", "digest_sets.found_firsts"}


def test_where_nothing_can_be_kept_each_process_compiles_for_itself(tmp_path: Path) -> None:
    """A package that its user cannot write to, as in an image, and a home that nobody can."""
    copy = tmp_path / "installed"
    shutil.copytree(SOURCES, copy / "scrub", ignore=shutil.ignore_patterns("__pycache__"))
    # Files where directories are wanted: permissions would not keep the superuser out.
    for folder in (copy / "scrub" / "codec", copy / "scrub" / "codec" / "kv"):
        (folder / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.write_text("")
    nowhere = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "NUMBA_CACHE_DIR": "",
    }
    assert run(FOUND, copy, **nowhere) == ["compiling", "[True, True, False]"]
    usable = nowhere | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert run(FOUND, copy, **usable) == ["compiling", "[True, True, False]"]
    assert run(FOUND, copy, **usable) == ["[True, True, False]"], (
        "it is kept in the user's directory"
    )


def test_code_is_forgotten_with_any_source_of_its_folder(tmp_path: Path) -> None:
    """A caller has parts of other files inside."""
    (tmp_path / "caller.py").write_text("caller")
    (tmp_path / "callee.py").write_text("before")
    before = stamp_of_folder.__wrapped__(tmp_path)
    (tmp_path / "callee.py").write_text("behind")
    assert stamp_of_folder.__wrapped__(tmp_path) != before


def test_it_is_said_once_that_loops_are_compiled() -> None:
    said: list[str] = []
    with on_compiling(lambda: said.append("here")):
        compiling()
        compiling()
    compiling()
    assert said == ["here"]
