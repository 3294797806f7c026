# SPDX-License-Identifier: Apache-2.0
"""`scrub prepare` is suggested once, and only where it helps."""

import os
from pathlib import Path

import pytest

from scrub.app.prepare_suggestion import suggest_once
from scrub.model.request import SparkOptions
from scrub.spark import class_archive
from scrub.spark.session_settings import JAVA_OPTIONS

ONE_COMMAND = SparkOptions(short_lived=True)


@pytest.fixture(autouse=True)
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are, in an environment that was not prepared yet."""
    directory = tmp_path / "archives"
    directory.mkdir()
    monkeypatch.setattr(class_archive, "archive_directory", lambda: directory)
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state" / "of scrub"))
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return directory


def test_it_is_suggested_once() -> None:
    assert [suggest_once(ONE_COMMAND) for _ in range(3)] == [True, False, False]


def test_not_where_it_was_run(archives: Path) -> None:
    (archives / "made").write_bytes(b"classes")
    kept = class_archive.keep_archive(archives / "made")
    assert not suggest_once(ONE_COMMAND)
    kept.unlink()
    assert suggest_once(ONE_COMMAND), "which nobody has said before"


@pytest.mark.parametrize(
    "options",
    [
        SparkOptions(remote="sc://there"),
        SparkOptions(conf=((JAVA_OPTIONS, "-Dmine=1"),)),
    ],
    ids=["a server", "options of the user"],
)
def test_not_where_the_jvm_would_not_use_it(options: SparkOptions) -> None:
    assert not suggest_once(options)


@pytest.mark.parametrize("name", ["PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR"])
def test_not_where_others_have_set_up_spark(
    name: str, archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(archives))
    assert not suggest_once(ONE_COMMAND)


def test_not_to_somebody_who_could_not_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.delenv("SCRUB_STATE_DIR")
    assert not suggest_once(ONE_COMMAND)


def test_not_if_it_would_be_suggested_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("SCRUB_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert not suggest_once(ONE_COMMAND)
