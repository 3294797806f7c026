# SPDX-License-Identifier: Apache-2.0
"""Pages keep their words and lose whatever a browser would fetch or run."""

import pytest

from scrub.errors import ScrubError
from scrub.gx.page_rewriting import is_self_contained, self_contained

LIST = """
<table id="runs"></table>
<script>
$('#runs').bootstrapTable({
  columns: [{'field': 'status', 'title': 'Status'}, {'field': 'name', 'title': 'Na<me'}],
  data: [%s],
  toolbar: '#t'
});
</script>
"""


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        ("<p>text</p>", "<p>text</p>"),
        ("<script>alert(1)</script>after", "after"),
        ('<p onclick="f()" style="x" class="c">t</p>', '<p class="c">t</p>'),
        ('<a href="page.html">t</a>', '<a href="page.html">t</a>'),
        ('<a href="https://example.org/">t</a>', "<a>t</a>"),
        ('<a href="//example.org/">t</a>', "<a>t</a>"),
        ('<a href="JavaScript:f()">t</a>', "<a>t</a>"),
        ('<a href="java&#10;script:f()">t</a>', "<a>t</a>"),
        ('<img src="https://example.org/x.png" alt="a < b">', "a &lt; b"),
        ("&lt;script&gt;x&lt;/script&gt;", "&lt;script&gt;x&lt;/script&gt;"),
        ('<iframe src="https://example.org/"></iframe>t', "t"),
        ('<link rel="stylesheet" href="https://example.org/"><p>t</p>', "<p>t</p>"),
        ('<i class="fas fa-times"></i>', '<span class="failed">failed</span>'),
        ('<i class="fas fa-times" aria-hidden="true"></i>failed', "failed"),
    ],
)
def test_what_stays_of_a_page(markup: str, kept: str) -> None:
    page = self_contained(markup)
    assert page.partition("<body>\n")[2] == f"{kept}\n</body>\n</html>\n"


def test_a_page_is_rewritten_once() -> None:
    page = self_contained("<p>text</p>")
    assert is_self_contained(page)
    assert self_contained(page) == page


def test_a_table_that_a_script_would_fill_is_written_out() -> None:
    rows = (
        "{'status': '<i class=\"fa-times\"></i>', 'name': 'first', '_run_time_sort': 1,"
        " '_table_row_link_path': 'one.html'},"
        "{'status': '<i class=\"fa-check-circle\"></i>', 'name': '<b onclick=x>second</b>',"
        " '_run_time_sort': 2, '_table_row_link_path': 'https://example.org/'}"
    )
    page = self_contained(LIST % rows)
    assert "<th>Status</th><th>Na&lt;me</th>" in page
    assert (
        '<td><span class="failed">failed</span></td><td><a href="one.html">first</a></td>' in page
    )
    assert page.index("<b>second</b>") < page.index(">first<"), "the newest run is not first"
    assert "https:" not in page
    assert "onclick" not in page


def test_a_table_that_cannot_be_read_is_no_empty_table() -> None:
    with pytest.raises(ScrubError, match="could not be read"):
        self_contained(LIST % "{'status': call()}")
