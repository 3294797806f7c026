# SPDX-License-Identifier: Apache-2.0
"""Rules of docs/architecture.md that neither types nor import-linter can hold."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ACTIONS = {
    "checkpoint",
    "collect",
    "collect_arrow",
    "foreach",
    "foreachPartition",
    "head",
    "isEmpty",
    "localCheckpoint",
    "show",
    "tail",
    "toArrow",
    "toLocalIterator",
    "toPandas",
}


RUNNERS = ("jobs.py",)
"""Modules of `checks` that may trigger Spark. All others are handed a `Jobs`."""

ARROW_RECEIVERS = {"array"}
"""Names of Arrow arrays, whose `take` is no action of Spark."""


def actions_in(source: str) -> Iterator[tuple[int, str]]:
    """Calls that make Spark run, by line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id="collect_arrow" as name)):
                if name in ACTIONS or _is_action_of_a_frame(node):
                    yield node.lineno, name


def _is_action_of_a_frame(call: ast.Call) -> bool:
    """Whether it is `count()`, `first()` or `take(n)` of a frame, not of a text, list or array.

    Texts and lists count something, and grouped frames only build another frame.
    """
    match call:
        case ast.Call(func=ast.Attribute(attr="count" | "first", value=receiver), args=[]):
            match receiver:
                case ast.Call(func=ast.Attribute(attr="groupBy" | "groupby")):
                    return False
                case ast.Name(id="itertools"):
                    return False
            return True
        case ast.Call(func=ast.Attribute(attr="take", value=receiver), args=[wanted]):
            is_array = isinstance(receiver, ast.Name) and receiver.id in ARROW_RECEIVERS
            return not is_array and not ast.unparse(wanted).startswith("pa.array(")
    return False


def test_only_jobs_trigger_spark() -> None:
    modules = sorted((ROOT / "checks").rglob("*.py"))
    runners = [ROOT / "checks" / name for name in RUNNERS]
    for runner in runners:
        found = list(actions_in(runner.read_text(encoding="utf-8")))
        assert found, "the names of actions are not those that runners use"
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules
        if path not in runners
        for line, name in actions_in(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    "planted",
    [
        "rows = frame.count()",
        "row = frame.where('a > 1').first()",
        "rows = frame.take(5)",
        "rows = frame.groupBy('a').count().collect()",
        "many = frame.groupBy('a').count().count()",
        "table = collect_arrow(frame)",
    ],
)
def test_a_planted_action_is_caught(planted: str) -> None:
    assert list(actions_in(planted))


@pytest.mark.parametrize(
    "harmless",
    [
        "number = text.count('a')",
        "frame = frame.groupBy('a').count()",
        "some = column.take(pa.array([1]))",
        "value = F.first('a')",
        "numbers = itertools.count()",
    ],
)
def test_what_looks_like_an_action_is_not_caught(harmless: str) -> None:
    assert not list(actions_in(harmless))


def test_the_version_is_all_that_the_package_itself_holds() -> None:
    """What is imported there is imported by everyone, and makes circles that no linter sees."""
    body = ast.parse((ROOT / "scrub" / "__init__.py").read_text(encoding="utf-8")).body
    kinds = [type(statement) for statement in body]
    assert kinds == [ast.Expr, ast.Assign]
    assert isinstance(body[1], ast.Assign)
    assert [target.id for target in body[1].targets if isinstance(target, ast.Name)] == [
        "__version__"
    ]
