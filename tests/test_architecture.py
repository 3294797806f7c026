# SPDX-License-Identifier: Apache-2.0
"""Rules of docs/architecture.md that neither types nor import-linter can hold."""

import ast
from collections.abc import Iterator
from pathlib import Path

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


def actions_in(path: Path) -> Iterator[str]:
    """Calls that make Spark run, by line; a plain `collect` is one that the runner handed in."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id="collect_arrow" as name)):
                if name in ACTIONS:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def test_only_the_runners_trigger_spark() -> None:
    modules = sorted((ROOT / "checks").rglob("*.py"))
    runners = [ROOT / "checks" / name for name in ("runner.py", "kv_runner.py")]
    for runner in runners:
        assert list(actions_in(runner)), "the names of actions are not those that runners use"
    assert not [call for path in modules if path not in runners for call in actions_in(path)]


def test_the_version_is_all_that_the_package_itself_holds() -> None:
    """What is imported there is imported by everyone, and makes circles that no linter sees."""
    body = ast.parse((ROOT / "scrub" / "__init__.py").read_text(encoding="utf-8")).body
    kinds = [type(statement) for statement in body]
    assert kinds == [ast.Expr, ast.Assign]
    assert isinstance(body[1], ast.Assign)
    assert [target.id for target in body[1].targets if isinstance(target, ast.Name)] == [
        "__version__"
    ]
