# SPDX-License-Identifier: Apache-2.0
"""The lists of elements in docs/catalog.md: what an expression may consist of.

Each element names the classes of the parser that it stands for, and examples that are translated; a
test compares both with what is translated, and the page with these lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression


@dataclass(frozen=True, slots=True)
class Element:
    """A row of a list."""

    allowed: str
    details: str
    examples: tuple[str, ...]  # over the columns n, m (int), s, t (string), d (date), at, f
    classes: tuple["type[Expr]", ...] = ()


PORTABLE = (
    Element(
        "columns and literals",
        "integers, strings, booleans, `DATE 'yyyy-mm-dd'`, decimals",
        ("f", "at", "true"),
    ),
    Element(
        "`=` `==` `<>` `!=` `<` `<=` `>` `>=`, `BETWEEN`",
        "between a column and a literal that its type can represent exactly, or between columns of "
        "the same type; integers may differ in width. Strings are ordered by their UTF-8 bytes",
        ("n = 1", "s <> 'a'", "d >= DATE '2024-02-29'", "n < m", "n BETWEEN 1 AND 9"),
    ),
    Element("`IN (...)`", "a column and literals, none of them NULL", ("n IN (1, 2)",)),
    Element("`IS NULL`, `IS NOT NULL`", "a column of any type", ("at IS NULL", "s IS NOT NULL")),
    Element("`AND`, `OR`, `NOT`, parentheses", "with NULL as in SQL", ("NOT (f OR n = 1) AND f",)),
)

NATIVE = (
    Element(
        "`lower(s)`, `lcase(s)`, `upper(s)`, `ucase(s)`",
        "as Unicode has it, in no language",
        ("lower(s)", "lcase(s)", "upper(s)", "ucase(s)"),
        (exp.Lower, exp.Upper),
    ),
    Element(
        "`trim(s)`, `ltrim(s)`, `rtrim(s)`",
        "spaces only, as in Spark; not `trim(BOTH ... FROM s)`",
        ("trim(s)", "ltrim(s)", "rtrim(s)"),
        (exp.Trim,),
    ),
    Element(
        "`length(s)`, `char_length(s)`",
        "code points",
        ("length(s)", "char_length(s)"),
        (exp.Length,),
    ),
    Element(
        "`substring(s, n, m)`, `substr(s, n, m)`, `left(s, m)`",
        "`n` and `m` are written as numbers; `m` can be left out",
        ("substring(s, 1, 3)", "substr(s, -2)", "substring(s FROM 2 FOR 3)", "left(s, 2)"),
        (exp.Substring, exp.Left),
    ),
    Element(
        "`concat(a, b, ...)`, `a || b`",
        "strings and integers",
        ("concat(s, '-', n)", "s || t"),
        (exp.Concat, exp.DPipe),
    ),
    Element(
        "`s LIKE '...'`, `NOT LIKE`",
        "the pattern is a literal; without `ESCAPE`",
        ("s LIKE 'a%'", "s NOT LIKE '_b'"),
        (exp.Like,),
    ),
    Element(
        "`+` `-` `*` `%` `mod(n, m)` `div`, `-n`, `abs(n)`",
        "integers; the result is of the wider type, that of `div` is a `bigint`. Not `/`",
        ("n + 1", "n - m", "n * 2", "n % 16", "mod(n, m)", "n div 10", "-n", "abs(n)"),
        (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg, exp.Abs),
    ),
    Element(
        "`CAST(a AS type)`, `a::type`, `int(a)`, `string(a)`, `date(a)`",
        "from integers to integers and strings, from booleans to strings, from strings to "
        "integers, dates and timestamps, and between dates, timestamps and strings; not `TRY_CAST`",
        ("CAST(n AS bigint)", "n::string", "int(s)", "string(f)", "date(at)", "CAST(d AS string)"),
        (exp.Cast, exp.TryCast),
    ),
    Element(
        "`to_date(a)`",
        "of a date, a timestamp or a string; without a format",
        ("to_date(at)", "to_date(s)"),
        (exp.TsOrDsToDate,),
    ),
    Element(
        "`year(a)`, `month(a)`, `day(a)`, `dayofmonth(a)`, `EXTRACT(YEAR FROM a)`",
        "of a date or a timestamp",
        ("year(at)", "month(d)", "day(d)", "dayofmonth(d)", "extract(DAY FROM at)"),
        (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Extract),
    ),
    Element(
        "`date_trunc('unit', at)`",
        "of a `timestamp`, to `year`, `quarter`, `month`, `week`, `day`, `hour`, `minute` or "
        "`second`",
        ("date_trunc('week', at)", "date_trunc('HOUR', at)"),
        (exp.TimestampTrunc,),
    ),
    Element(
        "`coalesce(a, b, ...)`, `nvl(a, b)`, `ifnull(a, b)`",
        "values of one type; integers may differ in width",
        ("coalesce(s, t, '')", "nvl(n, 0)", "ifnull(s, t)"),
        (exp.Coalesce,),
    ),
    Element(
        "`CASE`, `if(c, a, b)`",
        "values of one type, or NULL; integers may differ in width",
        ("CASE WHEN n > 0 THEN s END", "CASE n WHEN 1 THEN 'one' ELSE NULL END", "if(f, s, t)"),
        (exp.Case, exp.If),
    ),
    Element(
        "comparisons, `BETWEEN`, `IN`, `IS NULL`",
        "as above, with any of these in the place of a column",
        ("lower(s) = 'a'", "n % 10 IN (1, 2)", "trim(s) IS NULL", "year(at) BETWEEN 1999 AND n"),
    ),
)


def as_markdown(elements: Iterable[Element]) -> str:
    """A table of the elements, as the page has it."""
    lines = ["| allowed | details |", "|---|---|"]
    lines += [f"| {one.allowed.replace('|', chr(92) + '|')} | {one.details} |" for one in elements]
    return "\n".join(lines)
