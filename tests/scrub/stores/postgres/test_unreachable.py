# SPDX-License-Identifier: Apache-2.0
"""A database that cannot be reached, or a url that names none: what is said, and the exit code."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg import conninfo

from scrub.cli.main import run
from tests.postgres_server import Database

MALFORMED = {
    "a port that is no number": "postgresql://u:hush-hush@h:port/d",
    "a slash in the password": "postgresql://u:hush/hush@h/d",
    "an @ in the password": "postgresql://u:hush@hush@h/d",
    "an escape that is none": "postgresql://u:hush%zzhush@h/d",
    "a port that is too large": "postgresql://u:hush-hush@h:99999/d",
}
NOBODY = "postgresql://u:hush-hush@127.0.0.1:1/d"


def unknown(database: Database) -> dict[str, tuple[str, str]]:
    """Urls that name what is not there, and the words that say so."""
    parts = conninfo.conninfo_to_dict(database.url)
    where = f"host={parts['host']}" + (f"&port={parts['port']}" if "port" in parts else "")
    user, name = parts["user"], parts["dbname"]
    return {
        "host": ("postgresql://u:hush-hush@nowhere.invalid/d", "host"),
        "port": (NOBODY, "refused"),
        "database": (f"postgresql://{user}:hush-hush@/no_such?{where}", '"no_such" does not exist'),
        "role": (f"postgresql://no_such:hush-hush@/{name}?{where}", "no_such"),
    }


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """`scrub check` of a table in a database: its exit code, and all that it said."""

    def run_check(url: str, *options: str) -> tuple[int, str]:
        table = {
            "store": "shop",
            "columns": {"id": {"type": "int"}, "word": {"type": "string"}},
            "primary_key": ["id"],
            "indexes": {"by_word": {"columns": ["word"]}, "t_word": {"own": True}},
        }
        path = tmp_path / "scrub.yaml"
        store = {"kind": "postgres", "url": url}
        content = {"version": 1, "stores": {"shop": store}, "tables": {"t": table}}
        path.write_text(yaml.safe_dump(content))
        try:
            code = run(["check", "table", "t", "--catalog", str(path), *options])
        except SystemExit as stop:
            code = int(str(stop.code))
        return code, _said(capsys)

    return run_check


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    output, messages = capsys.readouterr()
    said = output + messages
    assert "hush" not in said
    return said


@pytest.mark.parametrize("mistake", MALFORMED)
def test_a_malformed_url_is_a_mistake_and_nothing_of_it_is_repeated(
    check: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, mistake: str
) -> None:
    url = MALFORMED[mistake]
    code, said = check(url)
    assert (code, "hint: write url:" in said) == (2, True)
    assert run(["init", url, "--catalog", str(tmp_path / "new.yaml")]) == 2
    assert "hint: write url:" in _said(capsys)


@pytest.mark.parametrize("what", ["host", "port", "database", "role"])
def test_what_is_not_there_leaves_a_check_incomplete_and_ends_init(
    database: Database, check: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str
) -> None:
    url, words = unknown(database)[what]
    code, said = check(url)
    assert code == 3
    assert words in said
    assert said.count("try the same url with psql") == 2  # of both checks, the hint is kept
    assert run(["init", url, "--catalog", str(tmp_path / "new.yaml")]) == 2
    said = _said(capsys)
    assert words in said
    assert "hint: try the same url with psql" in said
    assert not (tmp_path / "new.yaml").exists()
