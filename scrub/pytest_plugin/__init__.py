# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: `pytest --scrub-catalog scrub.yaml` makes a test of each table and check.

Every pytest of an environment loads this file, so it imports nothing heavy without the option.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("scrub", "tables and their indexes")
    group.addoption(
        "--scrub-catalog",
        metavar="FILE",
        help="Check the tables of this catalog: a test for each table and check.",
    )
    group.addoption(
        "--scrub-redact",
        action="store_true",
        help="Show keys and the names of differing columns, but no other values.",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("scrub_catalog") is None:
        return
    from scrub.pytest_plugin.collecting import CatalogTests

    config.pluginmanager.register(CatalogTests(config), "scrub-catalog")
