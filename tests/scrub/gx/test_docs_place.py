# SPDX-License-Identifier: Apache-2.0
"""Data Docs replace older ones and nothing else, and are whole or absent."""

from pathlib import Path

import pytest

from scrub.errors import ScrubError, UsageError
from scrub.gx.docs_place import new_place, require_place
from scrub.gx.page_rewriting import self_contained


def test_a_new_an_empty_and_an_older_place_are_accepted(tmp_path: Path) -> None:
    require_place(tmp_path / "new")
    require_place(tmp_path)
    (tmp_path / "index.html").write_text(self_contained("<p>older</p>"))
    require_place(tmp_path)


@pytest.mark.parametrize("name", ["index.html", "notes.txt"])
def test_a_directory_with_something_else_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("<p>of somebody else</p>")
    with pytest.raises(UsageError, match="does not hold Data Docs of scrub"):
        require_place(tmp_path)


def test_a_file_and_a_missing_parent_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not empty"):
        require_place(tmp_path / "file")
    with pytest.raises(UsageError, match="does not exist"):
        require_place(tmp_path / "missing" / "docs")


def test_what_fails_leaves_the_older_pages_and_nothing_else(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    with new_place(docs) as place:
        (place / "index.html").write_text("older")

    def fail() -> None:
        with new_place(docs) as place:
            (place / "index.html").write_text("half")
            raise ScrubError("in the middle")

    with pytest.raises(ScrubError, match="in the middle"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
    assert (docs / "index.html").read_text() == "older"
    with new_place(docs) as place:
        (place / "index.html").write_text("newer")
    assert (docs / "index.html").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
