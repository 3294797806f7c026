# SPDX-License-Identifier: Apache-2.0
"""Reports render: results in, text out; no store, no session."""

from collections.abc import Callable, Mapping
from typing import Protocol

from reports import as_json, as_jsonl, as_junit, as_markdown, as_text
from scrub.model.plan import CheckPlan
from scrub.model.result import RunResult


class Renderer(Protocol):
    """What every format offers."""

    def __call__(self, result: RunResult, *, redact: bool = False) -> str: ...


FORMATS: Mapping[str, Renderer] = {
    "text": as_text.render,
    "json": as_json.render,
    "jsonl": as_jsonl.render,
    "markdown": as_markdown.render,
    "junit": as_junit.render,
}

PLAN_FORMATS: Mapping[str, Callable[[CheckPlan], str]] = {
    "text": as_text.render_plan,
    "json": as_json.render_plan,
}
