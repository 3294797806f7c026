# SPDX-License-Identifier: Apache-2.0
"""Renders GitHub's workflow commands, which become annotations, and the summary of a step."""

from dataclasses import replace

from reports import as_markdown
from reports.context import NO_CONTEXT, ReportContext
from reports.escaping import printable
from reports.redaction import redact_result
from reports.remarks import Remark, defect_remarks, gap_remarks, gate_remarks, hidden_remark
from reports.summary import closing_line
from scrub.model.gate import Severity
from scrub.model.result import RunResult

COMMANDS_MAX = 10
"""GitHub shows no more annotations of a kind for a step."""
SUMMARY_BYTES_MAX = 1 << 20
"""GitHub drops the summary of a step that is longer."""

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_CUT = "\n\n*The rest does not fit into the summary of a step.*\n"


def render(result: RunResult, *, redact: bool = False, context: ReportContext = NO_CONTEXT) -> str:
    if redact:
        result = redact_result(result)
    remarks = _worth_a_command(result, context)
    if len(remarks) > COMMANDS_MAX:
        shown = COMMANDS_MAX - 1
        told = f"{len(remarks) - shown:,} more remarks are in the summary of this step"
        rest = replace(remarks[shown], rule="more", text=told)
        remarks = [*remarks[:shown], replace(rest, place=context.places.place(""))]
    closing = closing_line(result, context.verdict)
    return "".join(f"{line}\n" for line in (*map(_command, remarks), closing))


def render_summary(
    result: RunResult,
    *,
    redact: bool = False,
    context: ReportContext = NO_CONTEXT,
    bytes_max: int = SUMMARY_BYTES_MAX,
) -> str:
    """The Markdown of a step's summary, with as many defects as it has room for."""
    shown = len(result.defects)
    while True:
        part = replace(result, defects=result.defects[:shown])
        text = as_markdown.render(part, redact=redact, context=context)
        if len(text.encode("utf-8")) <= bytes_max:
            return text
        if shown == 0:
            return _cut(text, bytes_max)
        shown //= 2


def _worth_a_command(result: RunResult, context: ReportContext) -> list[Remark]:
    """The weightiest first; of a judged result, what is known or waived is in the summary only."""
    remarks = [
        *gate_remarks(context),
        *gap_remarks(result, context),
        *defect_remarks(result, context),
        *hidden_remark(result, context),
    ]
    order = list(Severity)
    kept = [one for one in remarks if one.defect is None or one.level is not Severity.NOTE]
    return sorted(kept, key=lambda remark: order.index(remark.level))


def _command(remark: Remark) -> str:
    place = f"file={_property(printable(remark.place.file))},line={remark.place.line}"
    title = _property(f"scrub: {remark.rule}")
    return f"::{_COMMANDS[remark.level]} {place},title={title}::{_data(remark.text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cut(text: str, bytes_max: int) -> str:
    """Whole lines from the beginning; half a line could be half a table."""
    room = bytes_max - len(_CUT.encode("utf-8"))
    kept = text.encode("utf-8")[: max(room, 0)].rpartition(b"\n")[0].decode("utf-8", "ignore")
    return kept + _CUT if room > 0 else ""
