# SPDX-License-Identifier: Apache-2.0
"""`scrub prepare`: Spark starts from what was kept, and does without where that does not fit."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest

from scrub.app import prepare
from scrub.app.checking import tables
from scrub.cli.main import run
from scrub.errors import SparkUnavailable
from scrub.spark import class_archive
from tests.builders import write_catalog
from tests.reports.results import a_check, a_run, a_table

START = """
import sys
from pathlib import Path
from scrub.model.request import SparkOptions
from scrub.spark import class_archive
from scrub.spark.session import spark_session

class_archive.archive_directory = lambda: Path(sys.argv[1])
with spark_session(None, SparkOptions(master="local[1]"), few_rows=True) as spark:
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    print(Path(f"/proc/{jvm}/maps").read_text())
    print(spark.range(7).count(), spark.conf.get("spark.sql.codegen.wholeStage"))
with spark_session(None, SparkOptions(master="local[1]")) as spark:
    print(spark.range(8).count(), spark.conf.get("spark.sql.codegen.wholeStage"))
"""


def start_with(archives: Path) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", START, str(archives)], capture_output=True, text=True, check=True
    )
    assert answer.stderr == ""
    return answer.stdout


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are, in an environment that was not prepared yet."""
    directory = tmp_path / "of two words"
    for module in (prepare, class_archive):
        monkeypatch.setattr(module, "archive_directory", lambda: directory)
    return directory


@pytest.mark.spark
def test_spark_starts_from_the_classes_that_were_gathered(archives: Path) -> None:
    """`make test` has gathered them; moved to a place of another name, they are as good."""
    known = list((Path(sys.prefix) / "share" / "scrub").glob(f"spark-{pyspark.__version__}-*.jsa"))
    if known:
        archives.mkdir()
        shutil.copy(known[0], archives)
    else:
        prepare.gather_classes()
    (archive,) = archives.iterdir()
    assert archive.stat().st_size > 50_000_000
    told = start_with(archives)
    assert str(archive) in told, "what is mapped is what classes come from"
    assert told.endswith("\n7 false\n8 true\n"), "a later session of many rows compiles its plans"


def test_it_tells_what_it_has_made(
    archives: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "_gather", lambda made: made.write_bytes(bytes(2_000_000)))
    assert run(["prepare"]) == 0
    (archive,) = archives.iterdir()
    assert f"Spark now starts from {archive} (2 MB)" in capsys.readouterr().out


def test_without_java_it_says_so_and_leaves_nothing(
    archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(archives))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkUnavailable, match="no java was found on PATH"):
        prepare.prepare()
    assert not archives.exists()


def test_a_wrong_java_home_is_named_before_anything_starts(
    archives: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nope")
    assert run(["prepare"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: JAVA_HOME is /nope, and there is no bin/java in it",
        "hint: let it name the folder of a Java 17 or newer, or unset it to use the java on PATH",
    ]
    assert not archives.exists()


def test_a_place_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "archive_directory", lambda: Path("/proc/scrub"))
    assert run(["prepare"]) == 2
    told = capsys.readouterr().err
    assert "/proc/scrub cannot be written to: " in told
    assert "run it as the owner of this Python environment" in told


SUGGESTED = "to make Spark start faster from now on, run once: scrub prepare"


@pytest.fixture
def check(archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A check for which Spark was started; whether somebody sits in front of it is said."""
    archives.mkdir()
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    catalog = write_catalog(tmp_path)

    def check(*options: str, terminal: bool, seconds_starting: float = 3.0) -> None:
        result = replace(a_run(a_table(a_check("by_customer"))), seconds_starting=seconds_starting)
        monkeypatch.setattr(tables, "run_check", lambda *_, **__: result)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        line = ["check", "table", "orders", "--catalog", str(catalog), *options]
        with pytest.raises(SystemExit) as end:
            run(line)
        assert end.value.code == 0

    return check


def test_it_is_suggested_once_to_somebody_who_waited_for_spark(
    check: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    check(terminal=True)
    assert SUGGESTED in capsys.readouterr().err
    check(terminal=True)
    assert SUGGESTED not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "terminal", "seconds_starting"),
    [((), False, 3.0), (("--format", "json"), True, 3.0), ((), True, 0.0)],
    ids=["no terminal", "for a program", "without Spark"],
)
def test_it_is_not_suggested_to_others(
    options: tuple[str, ...],
    terminal: bool,
    seconds_starting: float,
    check: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(*options, terminal=terminal, seconds_starting=seconds_starting)
    shown = capsys.readouterr()
    assert SUGGESTED not in shown.err + shown.out
