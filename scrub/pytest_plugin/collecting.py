# SPDX-License-Identifier: Apache-2.0
"""Adds the tests of a catalog to those that pytest collected."""

import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from checks.registry import checks_of
from scrub.app.gating.grounds import with_required_checks
from scrub.app.selection import select_tables
from scrub.catalog import load_catalog
from scrub.errors import ScrubError
from scrub.model.request import CheckRequest
from scrub.pytest_plugin.items import CatalogFile, CheckItem, DecisionItem, ScrubItem
from scrub.pytest_plugin.shared_check import SharedCheck

DEFECTS_MAX = 100
"""How many defects failures name at most; the counts are exact."""
_DIRECTORY = "scrub_directory"


class CatalogTests:
    """The hooks that work while `--scrub-catalog` is given."""

    def __init__(self, config: pytest.Config) -> None:
        path = config.invocation_params.dir / config.getoption("scrub_catalog")
        redact = bool(config.getoption("scrub_redact"))
        request = CheckRequest(catalog=path, limit=DEFECTS_MAX, redact=redact)
        try:
            catalog = load_catalog(path, unset_allowed=True)
            self._tables = select_tables(catalog, request)
        except ScrubError as error:  # a mistake in the catalog is answered before any test runs
            raise pytest.UsageError(error.with_hint) from error
        self._request = with_required_checks(request, catalog.gate)
        self._made: Path | None = None
        told = getattr(config, "workerinput", {}).get(_DIRECTORY)
        self._shared = SharedCheck(self._request, Path(told) if told else None)

    @pytest.hookimpl(optionalhook=True)  # xdist's, before it starts a worker
    def pytest_configure_node(self, node: Any) -> None:
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(prefix="scrub-pytest-"))  # readable by us alone
        node.workerinput[_DIRECTORY] = str(self._made)

    def pytest_unconfigure(self) -> None:
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)

    # A wrapper comes before -k and -m, and before xdist, which is first of all that are none.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None]:
        file = CatalogFile.from_parent(session, path=self._request.catalog)
        made = list(self._items(file, in_one_group=config.pluginmanager.hasplugin("xdist")))
        items.extend(made)
        report = pytest.CollectReport(file.nodeid, "passed", None, [*made])
        config.hook.pytest_collectreport(report=report)  # so that pytest counts them
        yield

    def _items(self, file: CatalogFile, *, in_one_group: bool) -> Iterator[ScrubItem]:
        found: list[ScrubItem] = [
            CheckItem.of(file, self._shared, table, check.name, index)
            for table in self._tables
            for check in checks_of(self._request, table)
            for index in check.subjects(table.indexes)
        ]
        for item in (*found, DecisionItem.of(file, self._shared)):
            if in_one_group:  # with --dist loadgroup no worker waits for another
                item.add_marker(pytest.mark.xdist_group("scrub"))
            yield item
