# SPDX-License-Identifier: Apache-2.0
"""What Data Docs say of an expectation of scrub: a sentence, and a table of what fails it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from great_expectations.render.components import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import (
    RendererConfiguration,
    RendererValueType,
)

from reports.escaping import printable
from scrub.gx.judging import CONSTRAINT, INDEX, PHYSICAL

_SENTENCES = {
    INDEX: "$which of table $table must match its rows",
    CONSTRAINT: "every row of table $table must keep the constraints of the catalog",
    PHYSICAL: "every stored value of table $table must be one that its column can hold",
}
_ALARMING = {"classes": ["text-danger"]}
_FROM_BATCH = ", with the batch in the place of the table"


class DataDocsOfCheck:
    """The renderers, beside the fields of `CheckExpectation`."""

    _TABLE_STYLE: ClassVar[dict[str, Any]] = {
        "body": {"classes": ["table-bordered", "table-sm", "mt-3"]}
    }

    @classmethod
    def _check_name(cls) -> str:
        raise NotImplementedError

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration[Any]
    ) -> RendererConfiguration[Any]:
        """The sentence in Great Expectations' own interfaces."""
        template, params = cls._sentence(renderer_configuration.kwargs)
        for name, value in params.items():
            renderer_configuration.add_param(
                name=name, param_type=RendererValueType.STRING, value=printable(value)
            )
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls,
        configuration: Any = None,
        result: Any = None,
        runtime_configuration: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> list[RenderedStringTemplateContent]:
        """The same sentence in Data Docs."""
        configuration = configuration or result.expectation_config
        template, params = cls._sentence(configuration.kwargs)
        styling = (runtime_configuration or {}).get("styling")
        return [_text(template, params, styling)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003
        result: Any = None,
        runtime_configuration: Any = None,  # noqa: ARG003
    ) -> list[Any]:
        """How many defects there are, of which kinds, and at which snapshots they were seen."""
        # In words of our own: Great Expectations would use a traceback as a template of markup.
        if raised := _raised(result.exception_info or {}):
            return [_text("$told", {"told": told}, _ALARMING, tag="strong") for told in raised]
        details = (result.result or {}).get("details")
        if not details:
            return []
        sides = ", ".join(f"{name} at {label}" for name, label in details["snapshots"].items())
        lines = [_text("$sides (run $run)", {"sides": sides, "run": details["run_id"]})]
        lines += [_text("$told", {"told": told}) for told in _not_looked_at(details)]
        if not result.success:
            counts = [f"{number:,} {kind}" for kind, number in details["counts"].items()]
            found = {
                "counts": ", ".join(counts) or "differences that could not be named",
                "examples": details["examples"],
            }
            template = "Found $counts. Shown: $examples."
            lines.insert(0, _text(template, found, _ALARMING, tag="strong"))
        return lines

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003
        result: Any = None,
        runtime_configuration: Any = None,  # noqa: ARG003
    ) -> list[RenderedTableContent] | None:
        """The examples, a line each."""
        failing = ((result and result.result) or {}).get("details", {}).get("failing")
        if not failing or not failing["rows"]:
            return None
        table = RenderedTableContent(
            content_block_type="table",
            header_row=failing["columns"],
            table=[[_cell(text) for text in row] for row in failing["rows"]],
            styling=cls._TABLE_STYLE,
        )
        return [table]

    @classmethod
    def _sentence(cls, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        indexes = kwargs.get("indexes")
        chosen = indexes if isinstance(indexes, list) else []
        which = {0: "every index", 1: f"index {', '.join(chosen)}"}.get(
            len(chosen), f"each of the indexes {', '.join(chosen)}"
        )
        template, params = _SENTENCES[cls._check_name()], {"table": str(kwargs.get("table"))}
        if "$which" in template:
            params["which"] = which
        points = kwargs.get("as_of")
        if isinstance(points, list) and points:
            template, params["points"] = f"{template}, as of $points", ", ".join(points)
        return template + (_FROM_BATCH if kwargs.get("use_batch") else ""), params


def _raised(exception_info: Mapping[str, Any]) -> list[str]:
    """The messages of exceptions, which Great Expectations may keep by the metric that raised."""
    each = [one for one in exception_info.values() if isinstance(one, Mapping)] or [exception_info]
    return [str(one.get("exception_message")) for one in each if one.get("raised_exception")]


def _not_looked_at(details: Mapping[str, Any]) -> list[str]:
    return [
        f"{one.get('index') or one.get('constraint') or one['check']} "
        f"{one['status'].replace('_', ' ')}: {one['reason']}"
        for one in details["coverage"]
        if one.get("reason")
    ]


def _text(
    template: str, params: dict[str, str], styling: Any = None, tag: str = "div"
) -> RenderedStringTemplateContent:
    shown = {name: printable(value) for name, value in params.items()}
    string: dict[str, Any] = {"template": template, "params": shown, "tag": tag}
    if styling:
        string["styling"] = dict(styling)  # Great Expectations adds to it
    return RenderedStringTemplateContent(
        content_block_type="string_template", string_template=string
    )


def _cell(text: str) -> RenderedStringTemplateContent:
    """Text as a parameter: Great Expectations escapes parameters, and nothing else."""
    return _text("$text", {"text": text}, tag="span")
