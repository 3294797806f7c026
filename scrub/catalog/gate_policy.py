# SPDX-License-Identifier: Apache-2.0
"""The `gate:` of a catalog: which defects fail a gate, and what it must have looked at."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta

from yaml.nodes import Node, ScalarNode

from scrub.catalog import document
from scrub.catalog.defect_choice import KEYS as CHOICE_KEYS
from scrub.catalog.defect_choice import read_choice
from scrub.catalog.document import line_of
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.gate import CHECK_NAMES, GatePolicy, GateRule, Requirement, Severity, Threshold
from scrub.model.table import Table

_KEYS = ("rules", "require", "max_age")
_RULE_KEYS = (*CHOICE_KEYS, "fail_above", "warn_above", "severity")
_REQUIREMENT_KEYS = ("check", "table", "index", "constraint")
_THRESHOLD = re.compile(r"(\d{1,12})|(\d{1,12}(?:\.\d{1,12})?) +per +million", re.ASCII)
_AGE = re.compile(r"(\d{1,6}) *([mhd])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=3660)


def read_gate_policy(catalog: Section, tables: Mapping[str, Table]) -> GatePolicy:
    """What `gate:` says, or what holds where it says nothing."""
    node = catalog.node("gate")
    if node is None:
        return GatePolicy()
    section = Section(node, catalog.line_of("gate"), "'gate'", _KEYS, catalog.mistakes)
    default = GatePolicy()
    return GatePolicy(
        rules=tuple(_rule(item, section, tables) for item in section.items("rules")),
        require=tuple(_requirements(section, tables)) if section.node("require") else None,
        max_age=_max_age(section) or default.max_age,
    )


def _rule(item: Node, gate: Section, tables: Mapping[str, Table]) -> GateRule:
    line = line_of(item)
    section = Section(item, line, "a rule of 'gate'", _RULE_KEYS, gate.mistakes)
    choice = read_choice(section, tables)
    severity = section.choice("severity", [severity.value for severity in Severity])
    if not any(section.node(key) for key in ("fail_above", "warn_above", "severity")):
        hint = "write fail_above, warn_above or severity"
        gate.mistakes.add(line, "a rule of 'gate' says nothing about its defects", hint)
    return GateRule(
        **asdict(choice),
        fail_above=_threshold(section, "fail_above"),
        warn_above=_threshold(section, "warn_above"),
        severity=Severity(severity or Severity.ERROR),
        line=line,
    )


def _threshold(section: Section, key: str) -> Threshold | None:
    text = section.text(key)
    if text is None:
        return None
    found = _THRESHOLD.fullmatch(text.strip())
    if found is None:
        hint = f"write a count ({key}: 10) or a share ({key}: 5 per million)"
        section.add(key, f"'{text}' is not a number of defects", hint)
        return None
    return Threshold(float(found[1] or found[2]), per_million=found[1] is None)


def _requirements(section: Section, tables: Mapping[str, Table]) -> Iterator[Requirement]:
    items = section.items("require")
    if not items and section.node("require") is not None:
        hint = "leave it out to require every index"
        section.add("require", "'require' of 'gate' requires nothing", hint)
    for item in items:
        if isinstance(item, ScalarNode):
            name = document.text(item, "a check of 'require'", section.mistakes)
            if name is not None and _is_check(name, line_of(item), section):
                yield Requirement(check=name)
            continue
        what = "an item of 'require'"
        one = Section(item, line_of(item), what, _REQUIREMENT_KEYS, section.mistakes)
        yield _requirement(one, tables)


def _requirement(section: Section, tables: Mapping[str, Table]) -> Requirement:
    choice = read_choice(section, tables)
    section.require("table", "write the name of a check, or {table: NAME, index: NAME}")
    check = section.text("check")
    if check is not None:
        _is_check(check, section.line_of("check"), section)
    implied = "constraint" if choice.constraint is not None else "index"
    if check not in (None, implied) and (choice.index or choice.constraint):
        section.add("check", f"the check '{check}' looks at whole tables", "leave out the rest")
    return Requirement(
        check=check or implied,
        table=choice.table,
        index=choice.index,
        constraint=choice.constraint,
    )


def _is_check(name: str, line: int, section: Section) -> bool:
    if name in CHECK_NAMES:
        return True
    hint = did_you_mean(name, CHECK_NAMES, "checks")
    section.mistakes.add(line, f"there is no check '{name}'", hint)
    return False


def _max_age(section: Section) -> timedelta | None:
    text = section.text("max_age")
    if text is None:
        return None
    found = _AGE.fullmatch(text.strip())
    age = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else timedelta(0)
    if not timedelta(0) < age <= _LONGEST:
        hint = "write minutes, hours or days: max_age: 24h"
        section.add("max_age", f"'{text}' is not a duration", hint)
        return None
    return age
