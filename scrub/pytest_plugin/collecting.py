# SPDX-License-Identifier: Apache-2.0
"""Adds the tests of a catalog to those that pytest collected."""

from collections.abc import Iterator

import pytest

from checks.registry import checks_of
from scrub.app.selection import select_tables
from scrub.catalog import load_catalog
from scrub.errors import ScrubError
from scrub.model.request import CheckRequest
from scrub.pytest_plugin.items import CatalogFile, CheckItem, DecisionItem, ScrubItem
from scrub.pytest_plugin.shared_check import SharedCheck

DEFECTS_MAX = 100
"""How many defects failures name at most; the counts are exact."""


class CatalogTests:
    """The hooks that work while `--scrub-catalog` is given."""

    def __init__(self, config: pytest.Config) -> None:
        path = config.invocation_params.dir / config.getoption("scrub_catalog")
        redact = bool(config.getoption("scrub_redact"))
        self._request = CheckRequest(catalog=path, limit=DEFECTS_MAX, redact=redact)
        try:
            catalog = load_catalog(path, unset_allowed=True)
            self._tables = select_tables(catalog, self._request)
        except ScrubError as error:  # a mistake in the catalog is answered before any test runs
            raise pytest.UsageError(error.with_hint) from error
        self._shared = SharedCheck(self._request)

    @pytest.hookimpl(tryfirst=True)  # before -k, -m and xdist look at the items
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        file = CatalogFile.from_parent(session, path=self._request.catalog)
        items.extend(self._items(file, in_one_group=config.pluginmanager.hasplugin("xdist")))

    def _items(self, file: CatalogFile, *, in_one_group: bool) -> Iterator[ScrubItem]:
        found: list[ScrubItem] = [
            CheckItem.of(file, self._shared, table, check.name, index)
            for table in self._tables
            for check in checks_of(self._request, table)
            for index in check.subjects(table.indexes)
        ]
        for item in (*found, DecisionItem.of(file, self._shared)):
            if in_one_group:  # one worker runs them all, and so the check runs once
                item.add_marker(pytest.mark.xdist_group("scrub"))
            yield item
