# SPDX-License-Identifier: Apache-2.0
"""Does once what every start would repeat: compiles loops, and archives Spark's classes."""

import importlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scrub.app.checking.tables import run_check
from scrub.app.selftest_and_demo.demo import make_demo
from scrub.errors import SparkUnavailable, UsageError
from scrub.model.progress import Progress, ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.spark.class_archive import archive_directory, keep_archive, writing_archive
from scrub.spark.java import require_java
from scrub.spark.session import spark_session
from scrub.spark.session_settings import FIRST_COMPILER_ONLY, JAVA_OPTIONS

_OF_COLUMNS = ("scrub.codec.digest_sets", "scrub.codec.xxh64")
_OF_PAIRS = (
    "scrub.codec.kv.arrow_columns",
    "scrub.codec.kv.arrow_rows",
    "scrub.codec.kv.batches",
    "scrub.codec.kv.entries",
    "scrub.codec.kv.ordering",
)
_ROWS = 1_000  # of a table that has every kind of defect


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The archive of classes."""

    archive: Path
    bytes: int


def prepare(*, on_progress: ProgressListener = ignore_progress) -> Prepared:
    """Compile loops that are not compiled yet, and make a new archive."""
    on_progress(Progress(phase="compiling"))
    compile_loops()
    on_progress(Progress(phase="gathering the classes that Spark loads"))
    return gather_classes()


def compile_loops() -> None:
    """Compiled loops are kept beside their modules, or in the user's cache directory."""
    _compile_those_of(*_OF_COLUMNS, *_OF_PAIRS)


def compile_column_loops() -> None:
    """Those that a check of columns uses; only a check of key-value pairs uses others."""
    _compile_those_of(*_OF_COLUMNS)


def _compile_those_of(*modules: str) -> None:
    for module in modules:
        importlib.import_module(module)
    importlib.import_module("scrub.codec.compiling.functions").compile_loops()


def gather_classes() -> Prepared:
    """Make a new archive."""
    require_java()
    directory = archive_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix="making-") as scratch:
            made = Path(scratch, "made.jsa")
            _gather(made)
            size = made.stat().st_size
            archive = keep_archive(made)
    except OSError as error:
        raise UsageError(
            f"{directory} cannot be written to: {error.strerror}",
            hint="run it as the owner of this Python environment",
        ) from error
    return Prepared(archive=archive, bytes=size)


def check_demo(archive: str) -> None:
    """Have Spark load what checks need; runs in a process of its own, whose JVM ends with it."""
    java = " ".join([*writing_archive(Path(archive)), FIRST_COMPILER_ONLY])
    options = SparkOptions(master="local[1]", conf=((JAVA_OPTIONS, java),))
    with (
        tempfile.TemporaryDirectory(prefix="scrub-") as directory,
        spark_session(None, options, few_rows=True) as spark,
    ):
        lake = make_demo(Path(directory), _ROWS)
        request = CheckRequest(catalog=lake.catalog, tables=(lake.table.name,))
        run_check(request, spark=spark)


def _gather(archive: Path) -> None:
    code = "import sys; from scrub.app.prepare import check_demo; check_demo(sys.argv[1])"
    # The JVM outlives its Python, and has the same standard output: it has ended when that ends.
    child = subprocess.run(
        [sys.executable, "-c", code, str(archive)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if child.returncode or not archive.is_file():
        telling = [line for line in child.stderr.splitlines() if line.strip()]
        raise SparkUnavailable(
            "Spark's classes could not be gathered"
            + (f": {telling[-1]}" if child.returncode and telling else ""),
            hint=f"is there room for 200 MB in {archive.parent.parent}? Checks work without them",
        )
