# SPDX-License-Identifier: Apache-2.0
"""Random tables with planted violations: as pairs and as columns, the same is found."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scrub.model.result import Status
from tests.checks.constraints.pair_rows import Promised, Row, TwoLayouts, found

pytestmark = pytest.mark.spark

# Few values each, so that keys clash and references meet their parents by chance, too.
VALUES: dict[str, Callable[[Random], Any]] = {
    "bigint": lambda random: random.choice([-(1 << 63), -1, 0, 7, *range(100, 160)]),
    "int": lambda random: random.choice([-(1 << 31), 0, *range(100, 160)]),
    "string": lambda random: random.choice(["", "a", "ä\x00b", *map(str, range(60))]),
    "decimal(6,2)": lambda random: Decimal(random.randrange(-3000, 3000)).scaleb(-2),
    "double": lambda random: random.choice([0.0, -0.0, math.nan, math.inf, random.random()]),
    "boolean": lambda random: random.random() < 0.5,
}
KEYS = (["bigint"], ["int", "string"], ["decimal(6,2)"], ["string", "boolean"], ["double", "int"])
ROWS, PARENTS = 60, 40


@dataclass(frozen=True, slots=True)
class Trial:
    """Two tables, of which the first refers to the other, in both layouts."""

    random: Random

    def tables(self) -> dict[str, Promised]:
        key = {f"k{n}": {"type": of} for n, of in enumerate(self.random.choice(KEYS))}
        referred = {f"p{n}": {"type": of} for n, of in enumerate(self.random.choice(KEYS))}
        parents = self._distinct(referred, PARENTS)
        columns = key | {
            "must": {"type": self._type(), "nullable": False},
            "wide": {"type": "double"},
            "price": {"type": "decimal(6,2)"},
            "note": {"type": "string"},
            **{f"f{n}": of for n, of in enumerate(referred.values())},
        }
        refers = [f"f{n}" for n in range(len(referred))]
        rows = [self._row(columns, of_key, refers, parents) for of_key in self._distinct(key, ROWS)]
        rows[0] |= {"must": None}
        rows += [dict(self.random.choice(rows)) for _ in range(3)]
        again = dict(self.random.choice(rows))
        rows.append(again | {"wide": 0.5, "price": None})  # the same key, another row
        more = {
            "checks": {"cheap": "price < 25 OR note = 'a'", "positive": "wide > 0"},
            "unique": {"one_price": ["price"], "one_note": ["note", "wide"]},
            "foreign_keys": {
                f"to_{layout}": {"columns": refers, "references": f"parents_{layout}"}
                for layout in ("pairs", "columns")
            },
        }
        families = {"families": {"rest": {"id": 1, "columns": ["note", "must"]}}}
        more |= families if self.random.random() < 0.5 else {}
        return {
            "parents": Promised(referred, parents, primary_key=list(referred)),
            "children": Promised(columns, rows, primary_key=list(key), more=more),
        }

    def _type(self) -> str:
        return self.random.choice(list(VALUES))

    def _value(self, column: dict[str, Any]) -> Any:
        return VALUES[column["type"]](self.random)

    def _distinct(self, columns: dict[str, Any], number: int) -> list[dict[str, Any]]:
        """Rows no two of which share a key; the two zeros are one."""
        rows = {}
        for _ in range(number):
            row = {name: self._value(of) for name, of in columns.items()}
            rows[repr([0.0 if value == 0.0 else value for value in row.values()])] = row
        return list(rows.values())

    def _row(
        self, columns: dict[str, Any], key: Row, refers: list[str], parents: Any
    ) -> dict[str, Any]:
        row = {name: self._value(of) for name, of in columns.items()}
        if self.random.random() < 0.8:
            row |= dict(zip(refers, self.random.choice(parents).values(), strict=True))
        for name in columns:
            if self.random.random() < 0.05:
                row[name] = None
        return row | dict(key)


@pytest.mark.parametrize("seed", range(6))
def test_pairs_and_columns_agree(tmp_path: Path, spark: Any, seed: int) -> None:
    ground = TwoLayouts(tmp_path)
    ground.write(Trial(Random(seed)).tables())
    engine = ("auto", "sql")[seed % 2]
    results = [
        ground.check(spark, f"children_{layout}", checks=["constraint"], engine=engine)
        for layout in ("pairs", "columns")
    ]
    of_pairs, of_columns = results
    assert found(of_pairs) == found(of_columns)
    assert {d.kind.value for d in of_pairs.defects} == {
        "null_violation",
        "check_violation",
        "unique_violation",
        "duplicate_primary_key",
        "foreign_key_violation",
    }
    numbers = [{o.constraint: (o.status, o.rows, o.counts) for o in r.outcomes} for r in results]
    assert numbers[0] == numbers[1]
    assert all(status is not Status.INCOMPLETE for status, *_ in numbers[0].values())
