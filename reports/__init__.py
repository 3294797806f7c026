# SPDX-License-Identifier: Apache-2.0
"""Reports render: results in, text out; no store, no session."""

from collections.abc import Mapping
from typing import Protocol

from reports import (
    as_github,
    as_gitlab,
    as_json,
    as_jsonl,
    as_junit,
    as_markdown,
    as_sarif,
    as_text,
)
from reports.context import NO_CONTEXT, ReportContext
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult


class Renderer(Protocol):
    """What every format offers."""

    def __call__(
        self, result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT
    ) -> str: ...


FORMATS: Mapping[str, Renderer] = {
    "text": as_text.render,
    "json": as_json.render,
    "jsonl": as_jsonl.render,
    "markdown": as_markdown.render,
    "junit": as_junit.render,
    "sarif": as_sarif.render,
    "gitlab": as_gitlab.render,
    "github": as_github.render,
}

WITH_PLACES = frozenset({"sarif", "gitlab", "github"})
"""The formats that point at lines of the catalog."""


class PlanRenderer(Protocol):
    """What every format of plans offers."""

    def __call__(self, plan: CheckPlan, context: ReportContext = NO_CONTEXT) -> str: ...


PLAN_FORMATS: Mapping[str, PlanRenderer] = {
    "text": as_text.render_plan,
    "json": as_json.render_plan,
}
