# SPDX-License-Identifier: Apache-2.0
"""Loads expectation suites, and refuses one of which Great Expectations has lost a part."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from great_expectations.core import ExpectationSuite
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext

from scrub.errors import ScrubError


class ExpectationsLost(ScrubError):
    """A suite was loaded without some of its expectations, and could pass because of that."""


def load_suite(context: AbstractDataContext, name: str) -> ExpectationSuite:
    """The suite of that name, with every expectation that was stored.

    Great Expectations leaves out an expectation whose class it does not know, or whose fields it
    does not accept. It only logs that.
    """
    store = context.expectations_store
    stored: Any = store.get(store.get_key(name=name))
    expected = Counter(_type_of(one) for one in stored["expectations"])
    suite = context.suites.get(name)
    lost = expected - Counter(one.expectation_type for one in suite.expectations)
    if lost:
        raise ExpectationsLost(
            f"suite {name}: {_listed(lost.items())} could not be loaded",
            hint="import the module that defines them first (scrub.gx.expectations for those of "
            "scrub); if it is imported, see the log for the field that is not accepted",
        )
    return suite


def _type_of(stored: Any) -> str:
    return str(stored["type"] if isinstance(stored, dict) else stored.type)


def _listed(lost: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in sorted(lost))
