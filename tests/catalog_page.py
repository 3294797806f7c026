# SPDX-License-Identifier: Apache-2.0
"""The lists in docs/catalog.md that are made from the code; to renew them after a change:

.venv/bin/python -m tests.catalog_page
"""

import re
from pathlib import Path

from scrub.catalog.listing import NATIVE, PORTABLE, as_markdown

PAGE = Path(__file__).parents[1] / "docs" / "catalog.md"
LISTS = {"portable": PORTABLE, "native": NATIVE}


def with_lists(page: str) -> str:
    """The page with each list as the code has it."""
    for name, elements in LISTS.items():
        begin, end = f"<!-- {name}: made by tests/catalog_page.py -->", f"<!-- end of {name} -->"
        found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        made = f"{begin}\n{as_markdown(elements)}\n{end}"
        page, number = found.subn(lambda _, made=made: made, page)
        assert number == 1, f"the page has {number} places for the list {name}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
