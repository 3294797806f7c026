# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md, run in the order of the page."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples_used import tiny_lake

PAGE = Path(__file__).parent.parent / "docs" / "python.md"
FENCED = re.compile(r"^```(python|yaml)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.slow
def test_the_examples_give_what_the_page_says(
    tmp_path: Path,
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the page writes in YAML belongs to the end of the catalog."""
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    catalog = tiny_lake().make_lake(tmp_path / "tiny")
    monkeypatch.chdir(catalog.parent)
    runner, names, examples = doctest.DocTestRunner(), {}, 0
    for language, text in FENCED.findall(PAGE.read_text(encoding="utf-8")):
        if language == "yaml":
            catalog.write_text(catalog.read_text() + text)
            continue
        test = doctest.DocTestParser().get_doctest(text, names, PAGE.name, str(PAGE), 0)
        examples += len(test.examples)
        runner.run(test, clear_globs=False)
        names = test.globs
    failed, tried = runner.summarize()
    assert failed == 0, capsys.readouterr().out
    assert tried == examples > 20
