# SPDX-License-Identifier: Apache-2.0
"""Pages of Data Docs, rewritten so that they load nothing and say everything without a script.

Great Expectations makes pages that fetch styles, icons and scripts from foreign hosts. Without them
the list of runs is empty and a status is an icon that is not there. Here only known elements and
attributes are kept, tables that a script would fill are written out, and icons become words.
"""

import ast
import html
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from scrub.errors import ScrubError
from scrub.gx.page_style import FOOT, GENERATOR, HEAD

_ELEMENTS = (
    frozenset({"a", "b", "br", "code", "dd", "div", "dl", "dt", "em", "hr", "li", "nav", "ol"})
    | {"p", "pre", "section", "small", "span", "strong", "u", "ul"}
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
    | {"table", "tbody", "td", "th", "thead", "tr"}
)
_VOID = frozenset({"br", "hr"})
_NEVER_CLOSED = _VOID | {"img", "input", "link", "meta"}
_ATTRIBUTES = frozenset({"class", "colspan", "hidden", "href", "id", "rowspan"})
_LEFT_OUT = frozenset({"head", "script", "style", "footer", "button", "label", "form", "svg"})
_TOOLTIPS = frozenset({"top", "bottom", "left", "right"})
_STATUSES = {
    "fa-check-circle": '<span class="succeeded">succeeded</span>',
    "fa-times": '<span class="failed">failed</span>',
    "fa-exclamation-triangle": '<span class="raised">raised an exception</span>',
}
_FILLED_BY_SCRIPT = re.compile(
    r"\$\('#(?P<id>[^']+)'\)\.bootstrapTable\(.*?"
    r"columns: (?P<columns>\[.*?\]),\n\s*data: (?P<data>\[.*?\]),\n\s*toolbar:",
    flags=re.DOTALL,
)
_RELATIVE = re.compile(r"(?![a-z][a-z0-9+.-]*:|//|/|\\)[^\x00-\x20]*", flags=re.IGNORECASE)


def self_contained(page: str) -> str:
    """The page with a style of its own, and with nothing that a browser would fetch or run."""
    if is_self_contained(page):
        return page
    return f"{HEAD}{_cleaned(page, _filled_tables(page))}{FOOT}"


def is_self_contained(page: str) -> bool:
    return GENERATOR in page


def _cleaned(markup: str, tables: Mapping[str, str] | None = None) -> str:
    cleaner = _Cleaner(tables or {})
    cleaner.feed(markup)
    cleaner.close()
    lines = (line.strip() for line in "".join(cleaner.kept).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def _filled_tables(page: str) -> dict[str, str]:
    """The tables that a script would fill, by id, as markup."""
    return {found["id"]: _table(found) for found in _FILLED_BY_SCRIPT.finditer(page)}


def _table(found: re.Match[str]) -> str:
    try:
        columns: Sequence[Mapping[str, Any]] = ast.literal_eval(found["columns"])
        rows: Sequence[Mapping[str, Any]] = ast.literal_eval(found["data"])
    except (ValueError, SyntaxError) as error:
        raise ScrubError(
            "a table of Data Docs could not be read",
            hint="this version of Great Expectations is newer than those that scrub knows",
        ) from error
    rows = sorted(rows, key=lambda row: float(row.get("_run_time_sort") or 0), reverse=True)
    head = "".join(f"<th>{html.escape(str(column['title']))}</th>" for column in columns)
    body = "\n".join(f"<tr>{_cells(row, columns)}</tr>" for row in rows)
    return f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"


def _cells(row: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> str:
    """A row of the list of pages; its first cell without a link leads to the page."""
    cells = [_cleaned(str(row.get(column["field"], ""))).strip() for column in columns]
    link = str(row.get("_table_row_link_path") or "")
    if _RELATIVE.fullmatch(link):
        for number, cell in enumerate(cells):
            if "<" not in cell and cell:
                cells[number] = f'<a href="{html.escape(link)}">{cell}</a>'
                break
    return "".join(f"<td>{cell}</td>" for cell in cells)


class _Cleaner(HTMLParser):
    """Copies what is known to be harmless; the text of everything else stays, but as text."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self._tables = tables
        self._left_out: list[str] = []  # open elements, from the outermost that is left out

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        classes = attributes.get("class", "").split()
        if self._left_out or _is_left_out(tag, attributes, classes):
            if tag not in _NEVER_CLOSED:
                self._left_out.append(tag)
            return
        if tag == "i":
            self._keep_icon(attributes, classes)
        elif tag == "img":
            self.kept.append(html.escape(attributes.get("alt", "")))
        elif tag in _ELEMENTS:
            self._keep_element(tag, attributes, classes)

    def handle_endtag(self, tag: str) -> None:
        if self._left_out:
            if tag in self._left_out:
                while self._left_out.pop() != tag:
                    pass
        elif tag in _ELEMENTS - _VOID:
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self.kept.append(html.escape(data))

    def _keep_icon(self, attributes: Mapping[str, str], classes: Sequence[str]) -> None:
        """A status in words, unless the words are beside the icon already."""
        if attributes.get("aria-hidden") != "true":
            self.kept += [word for icon, word in _STATUSES.items() if icon in classes]

    def _keep_element(
        self, tag: str, attributes: Mapping[str, str], classes: Sequence[str]
    ) -> None:
        kept = {name: attributes[name] for name in attributes if name in _ATTRIBUTES}
        if not _RELATIVE.fullmatch(kept.get("href", "")):
            del kept["href"]  # of a link to elsewhere, the text stays
        written = "".join(f' {name}="{html.escape(value)}"' for name, value in kept.items())
        self.kept.append(f"<{tag}{written}>")
        if "tab-pane" in classes:
            self.kept.append(f"<h4>{html.escape(attributes.get('id', '').replace('-', ' '))}</h4>")
        if tag == "table" and attributes.get("id") in self._tables:
            self.kept.append(self._tables[attributes["id"]])


def _is_left_out(tag: str, attributes: Mapping[str, str], classes: Sequence[str]) -> bool:
    """Whether an element is about scripts: what runs them, and what does nothing without them."""
    return (
        tag in _LEFT_OUT
        or attributes.get("data-toggle") == "collapse"  # what it would unfold is always shown
        or "nav-tabs" in classes
        or classes == ["card", "mb-3"]  # the buttons that filter
        or (tag == "span" and len(classes) == 1 and classes[0] in _TOOLTIPS)
    )
