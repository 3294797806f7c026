# SPDX-License-Identifier: Apache-2.0
"""The result of a check as Data Docs: a page for each table, and one that lists them."""

import html
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import great_expectations
from great_expectations.core import ExpectationSuite, RunIdentifier
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.data_context.data_context.ephemeral_data_context import (
    EphemeralDataContext,
)
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
)
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)

from reports.escaping import printable
from scrub.errors import ScrubError
from scrub.gx.docs_place import INDEX_PAGE, new_place
from scrub.gx.expectations import (
    CheckExpectation,
    ExpectConstraintsToHold,
    ExpectEncodingsToBeCanonical,
    ExpectSecondaryIndexToMatchPrimary,
)
from scrub.gx.judging import COMPLETE, CONSTRAINT, INDEX, PHYSICAL, LookIncomplete, judgement_of
from scrub.gx.page_rewriting import self_contained
from scrub.model.result import RunResult, Status, TableResult, worst

_SITE = "scrub"
_BATCH = "check"


def write_data_docs(result: RunResult, catalog: Path, directory: Path, *, redact: bool) -> Path:
    """Write the pages to a new directory, or over older ones; the path of the first page."""
    with new_place(directory) as place:
        context = _context(place)
        for suite_name, table in _suite_names(result).items():
            _add_table(context, suite_name, result, table, str(catalog), redact)
        context.build_data_docs()
        # Great Expectations only logs what it could not render.
        made = sum(1 for page in (place / "validations").rglob("*.html") if page.stat().st_size)
        if made != len(result.tables):
            raise ScrubError(f"Great Expectations made {made} of {len(result.tables)} pages")
        rewrite_pages(place)
        shutil.rmtree(place / "static", ignore_errors=True)  # no page refers to it any more
    return directory / INDEX_PAGE


def rewrite_pages(site: Path) -> None:
    """Make every page of a site self-contained; pages that are so already stay as they are."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        rewritten = self_contained(text)
        if rewritten != text:
            unfinished = page.with_name(f".{page.name}.unfinished")
            unfinished.write_text(rewritten, encoding="utf-8")
            unfinished.replace(page)


def _context(place: Path) -> EphemeralDataContext:
    backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(place)}
    site = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": backend,
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(),
        data_docs_sites={_SITE: site},
        analytics_enabled=False,
    )
    return great_expectations.get_context(mode="ephemeral", project_config=config)


def _suite_names(result: RunResult) -> Mapping[str, TableResult]:
    """A name for the pages of each table that is safe as the name of a file."""
    names: dict[str, TableResult] = {}
    for table in result.tables:
        name = re.sub(r"[^\w-]", "_", table.table)
        while name in names:
            name += "_"
        names[name] = table
    return names


def _add_table(
    context: EphemeralDataContext,
    suite_name: str,
    result: RunResult,
    table: TableResult,
    catalog: str,
    redact: bool,
) -> None:
    suite = context.suites.add(ExpectationSuite(name=suite_name))
    results = []
    for check, index in _parts(table):
        expectation = _expectation(check, index, catalog, table.table, redact)
        suite.add_expectation(expectation)
        results.append(_result_of(expectation, result, table.table, check, index))
    _store(context, suite_name, result, table, results)


def _parts(table: TableResult) -> Iterator[tuple[str, str | None]]:
    """What becomes a line of a page: each index, and each check of the whole table."""
    parts = ((o.check, o.index if o.check == INDEX else None) for o in table.checks)
    yield from dict.fromkeys(parts)


def _expectation(
    check: str, index: str | None, catalog: str, table: str, redact: bool
) -> CheckExpectation:
    chosen: dict[str, Any] = {"catalog": catalog, "table": table, "redact": redact}
    if check == INDEX:
        return ExpectSecondaryIndexToMatchPrimary(indexes=[index] if index else [], **chosen)
    others = {CONSTRAINT: ExpectConstraintsToHold, PHYSICAL: ExpectEncodingsToBeCanonical}
    return others[check](**chosen)


def _result_of(
    expectation: CheckExpectation, result: RunResult, table: str, check: str, index: str | None
) -> ExpectationValidationResult:
    """What validating the expectation would have given."""
    found = judgement_of(result, table, check, index, redact=expectation.redact)
    raised: LookIncomplete | None = None
    try:
        found.demand_a_look()
    except LookIncomplete as error:
        raised = error
    return ExpectationValidationResult(
        success=found.success,
        expectation_config=expectation.configuration,
        result={} if raised else found.as_result(COMPLETE),
        exception_info={
            "raised_exception": raised is not None,
            "exception_message": None if raised is None else str(raised),
            "exception_traceback": None,
        },
        meta={},
    )


def _store(
    context: EphemeralDataContext,
    suite_name: str,
    result: RunResult,
    table: TableResult,
    results: list[ExpectationValidationResult],
) -> None:
    run = RunIdentifier(run_name=result.run_id, run_time=result.started_at)
    succeeded = sum(bool(one.success) for one in results)
    name = printable(table.table)
    validation = ExpectationSuiteValidationResult(
        success=worst(table.checks) is Status.CLEAN,  # as the exit code says
        results=results,
        suite_name=suite_name,
        statistics={
            "evaluated_expectations": len(results),
            "successful_expectations": succeeded,
            "unsuccessful_expectations": len(results) - succeeded,
            "success_percent": 100.0 * succeeded / len(results) if results else 0.0,
        },
        meta={
            "run_id": run,
            "great_expectations_version": great_expectations.__version__,
            # The list of runs shows the first as it is, the page of the run escapes the second.
            "active_batch_definition": {"data_asset_name": html.escape(name)},
            "batch_spec": {"data_asset_name": name},
        },
    )
    identifier = ValidationResultIdentifier(
        expectation_suite_identifier=ExpectationSuiteIdentifier(suite_name),
        run_id=run,
        batch_identifier=_BATCH,
    )
    context.validation_results_store.set(identifier, validation)
