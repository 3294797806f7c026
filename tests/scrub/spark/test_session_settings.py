# SPDX-License-Identifier: Apache-2.0
"""What a session of our own is started with."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from scrub.model.request import SparkOptions
from scrub.spark import class_archive
from scrub.spark.session_settings import (
    FIRST_COMPILER_ONLY,
    JAVA_OPTIONS,
    OUR_DAEMON,
    SECOND_COMPILER_LATER,
    defaults,
)

ONE_COMMAND = SparkOptions(short_lived=True)


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are, in an environment that was not prepared yet."""
    directory = tmp_path / "of two words"
    directory.mkdir()
    monkeypatch.setattr(class_archive, "archive_directory", lambda: directory)
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return directory


def keep(archives: Path, content: bytes) -> Path:
    made = archives / "made"
    made.write_bytes(content)
    return class_archive.keep_archive(made)


@pytest.mark.usefixtures("archives")
def test_without_an_archive_the_jvm_is_told_only_what_expressions_mean() -> None:
    settings = defaults(SparkOptions(), few_rows=False, time_zone="Asia/Kathmandu")
    for whose in ("driver", "executor"):
        assert settings[f"spark.{whose}.defaultJavaOptions"].split() == [
            "-Duser.language=en",
            "-Duser.country=US",
            "-Duser.variant=",
            "-Duser.timezone=Asia/Kathmandu",
        ]


def test_an_archive_is_used_whatever_its_path(archives: Path) -> None:
    archive = keep(archives, b"classes")
    java = defaults(SparkOptions(), few_rows=False)[JAVA_OPTIONS]
    assert java.startswith(f'"-XX:SharedArchiveFile={archive}" ')
    assert FIRST_COMPILER_ONLY not in java


@pytest.mark.usefixtures("archives")
def test_a_jvm_that_ends_with_a_small_check_does_without_its_second_compiler() -> None:
    """Later sessions of a process have the JVM of the first, so only if there is none."""
    for few_rows in (True, False):
        for options in (ONE_COMMAND, SparkOptions()):
            java = defaults(options, few_rows).get(JAVA_OPTIONS, "")
            assert (FIRST_COMPILER_ONLY in java) is (few_rows and options.short_lived)
            assert ("-XX:ReservedCodeCacheSize=240m" in java) is (FIRST_COMPILER_ONLY in java)


@pytest.mark.usefixtures("archives")
def test_a_jvm_of_one_command_compiles_a_second_time_only_what_runs_very_often() -> None:
    later = " ".join(SECOND_COMPILER_LATER)
    assert later in defaults(ONE_COMMAND, few_rows=False)[JAVA_OPTIONS]
    assert later not in defaults(ONE_COMMAND, few_rows=True)[JAVA_OPTIONS]
    assert later not in defaults(SparkOptions(), few_rows=False)[JAVA_OPTIONS]


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR"])
def test_options_that_files_of_an_administrator_may_name_are_not_replaced(
    name: str, archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(archives, b"classes")
    assert JAVA_OPTIONS in defaults(ONE_COMMAND, few_rows=True)
    monkeypatch.setenv(name, str(archives))
    assert JAVA_OPTIONS not in defaults(ONE_COMMAND, few_rows=True)


def test_what_others_have_started_is_left_as_it_is(
    archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(archives, b"classes")
    remote = defaults(SparkOptions(remote="sc://there", short_lived=True), few_rows=True)
    assert JAVA_OPTIONS not in remote
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert defaults(ONE_COMMAND, few_rows=True) == {}


@pytest.mark.usefixtures("archives")
@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://there:7077", "yarn"])
def test_a_cluster_has_its_usual_settings_for_few_rows_too(master: str) -> None:
    usual = defaults(SparkOptions(master=master), few_rows=False)
    assert defaults(SparkOptions(master=master, short_lived=True), True) == usual
    configured = SparkOptions(conf=(("spark.master", master),), short_lived=True)
    assert defaults(configured, True) == usual


def test_an_archive_that_was_cut_off_is_passed_over(archives: Path) -> None:
    """It would end the JVM with a signal."""
    keep(archives, b"classes").write_bytes(b"cla")
    assert class_archive.using_archive() == []


def test_a_new_archive_takes_the_place_of_earlier_ones(archives: Path) -> None:
    keep(archives, b"classes")
    for content in (b"other classes", b"other classes"):
        kept = keep(archives, content)
        assert list(archives.iterdir()) == [kept]
        assert kept.read_bytes() == content


def test_archives_of_other_versions_go_with_the_first_of_this_one(archives: Path) -> None:
    (archives / "spark-3.5.0-7.jsa").write_bytes(b"classes")
    assert class_archive.using_archive() == []
    kept = keep(archives, b"classes")
    assert list(archives.iterdir()) == [kept]


DAEMON = "spark.python.daemon.module"


@pytest.mark.usefixtures("archives")
def test_workers_are_forked_from_what_has_our_modules_only_where_they_surely_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert defaults(ONE_COMMAND, few_rows=False)[DAEMON] == OUR_DAEMON
    assert find_spec(OUR_DAEMON) is not None
    for options in (
        SparkOptions(master="local-cluster[2,1,1024]"),
        SparkOptions(master="spark://there:7077"),
        SparkOptions(conf=(("spark.master", "yarn"),)),
        SparkOptions(remote="sc://there"),
    ):
        assert DAEMON not in defaults(options, few_rows=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "/another/python")
    assert DAEMON not in defaults(ONE_COMMAND, few_rows=False)
