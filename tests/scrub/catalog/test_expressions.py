# SPDX-License-Identifier: Apache-2.0
"""Which expressions a catalog accepts, which columns they use, and which leave Spark."""

from datetime import date
from decimal import Decimal

import pytest

from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.expressions import check_condition, check_expression, columns_used, translate
from scrub.model import predicate
from scrub.model.predicate import BOOLEAN, Node, Operator
from scrub.model.types import parse_type

TYPES = {
    "id": "bigint",
    "small": "smallint",
    "word": "string",
    "Email": "string",
    "a.b": "string",
    "flag": "boolean",
    "other_flag": "boolean",
    "day": "date",
    "price": "decimal(10,2)",
    "cost": "decimal(12,2)",
    "ratio": "double",
    "at": "timestamp",
    "bytes": "binary",
    "fine": "decimal(38,35)",
}
COLUMNS = {name: parse_type(text) for name, text in TYPES.items()}


def column(name: str) -> predicate.ColumnTerm:
    return predicate.ColumnTerm(name, COLUMNS[name])


def compare(name: str, operator: str, value: object) -> predicate.Comparison:
    literal = predicate.LiteralTerm(value, COLUMNS[name])  # type: ignore[arg-type]
    return predicate.Comparison(column(name), Operator(operator), literal)


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("lower(EMAIL)", ("Email",)),
        ("concat(word, `email`, WORD)", ("word", "Email")),
        ("`a.b`", ("a.b",)),
        ("1", ()),
        ("filter(split(word, ','), x -> x <> email)", ("word", "Email")),
        ("extract(year FROM day)", ("day",)),
        ("timestampadd(MONTH, small, at)", ("at", "small")),
        ("case when flag then price else cost end", ("flag", "price", "cost")),
        ("word RLIKE '^a' AND NOT flag", ("word", "flag")),
        ("substring(word FROM 1 FOR 2)", ("word",)),
        ("cast(price AS string)", ("price",)),
        ("unix_timestamp(at)", ("at",)),
        ("isnull(word)", ("word",)),
    ],
)
def test_columns_are_told_in_the_catalogs_spelling(text: str, used: tuple[str, ...]) -> None:
    assert set(columns_used(text, COLUMNS)) == set(used)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not parse"),
        ("lower(", "does not parse"),
        ("substr(word, 1", "does not parse"),
        ("id = = 1", "does not parse"),
        ("id AS x", "does not parse"),
        ("id, word", "does not parse"),
        ("SELECT 1", "does not parse"),
        ("DROP TABLE x", "does not parse"),
        ("1; 2", "not one expression"),
        ("word ISNULL", "uses ISNULL"),
        ("flag OR id NOTNULL", "uses ISNULL or NOTNULL"),
        ("*", "not one expression"),
        ("nope = 1", "unknown column 'nope'"),
        ("t.id = 1", "names 't.id'"),
        ("id IN (SELECT 1)", "subquery"),
        ("(SELECT max(id) FROM t)", "subquery"),
        ("EXISTS (SELECT 1)", "subquery"),
        ("sum(id)", "aggregate"),
        ("count(*)", "aggregate"),
        ("any(flag)", "aggregate"),
        ("collect_set(id)", "aggregate"),
        ("percentile_approx(id, 0.5)", "aggregate"),
        ("row_number() OVER (ORDER BY id)", "window"),
        ("explode(split(word, ','))", "several rows"),
        ("stack(2, id, id)", "several rows"),
        (":id = id", "parameter"),
        ("rand() < 0.5", "uses rand"),
        ("randn()", "uses randn"),
        ("uuid()", "uses uuid"),
        ("at < now()", "uses now"),
        ("at < current_timestamp", "uses current_timestamp"),
        ("at < current_timestamp()", "uses current_timestamp"),
        ("day = current_date()", "uses current_date"),
        ("unix_timestamp() > id", "uses current_timestamp"),
        ("input_file_name()", "uses input_file_name"),
        ("monotonically_increasing_id()", "uses monotonically_increasing_id"),
        ("spark_partition_id()", "uses spark_partition_id"),
        ("current_user() = word", "uses current_user"),
        ("day < DATE 'today'", "uses 'today'"),
        ("at < TIMESTAMP 'now UTC'", "uses 'now UTC'"),
        ("at < CAST((' Today ') AS TIMESTAMP)", "uses ' Today '"),
        ("at < TIMESTAMP '08:30'", "uses '08:30'"),
        ("to_timestamp('T8:30:00') < at", "uses 'T8:30:00'"),
        ("(" * 3000 + "id" + ")" * 3000, "nested too deeply"),
    ],
)
def test_what_does_not_follow_from_the_row_alone_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadExpression, match=words):
        columns_used(text, COLUMNS)
    assert translate(text, COLUMNS) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("day >= 'today'", "today"),
        ("'Yesterday' < at", "Yesterday"),
        ("at >= ('now')", "now"),
        ("at >= 'now Europe/Berlin'", "now Europe/Berlin"),
        ("day BETWEEN '2026-01-01' AND 'tomorrow'", "tomorrow"),
        ("day IN ('2026-01-01', 'today')", "today"),
        ("coalesce(day, 'today')", "today"),
        ("to_date('now')", "now"),
        ("datediff(word, 'today')", "today"),
        ("CAST(word AS DATE) > 'today'", "today"),
        ("word > 'today' AND day > '2026-01-01'", "today"),
        ("at >= '08:30'", "08:30"),
        ("at BETWEEN '08:30:00' AND '2026-01-01'", "08:30:00"),
        ("'today' IN (day, '2026-01-01')", "today"),
        ("word IN ('today', day)", "today"),
        ("'08:30' BETWEEN at AND at", "08:30"),
    ],
)
def test_a_day_or_time_that_moves_on_is_refused_without_a_cast_too(text: str, moment: str) -> None:
    """An index that covers what comes after 'today' would be another one tomorrow."""
    with pytest.raises(BadExpression, match=f"uses '{moment}', whose value changes"):
        check_expression(text, COLUMNS)


def test_a_condition_with_such_a_day_is_refused_in_each_dialect() -> None:
    with pytest.raises(BadExpression, match="uses 'today'"):
        check_condition("day >= 'today'", COLUMNS)
    with pytest.raises(BadExpression, match="uses 'today'"):
        check_expression("day >= 'today'", COLUMNS, "postgres")


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("word = 'today'", "spark"),
        ("word > 'now'", "spark"),
        ("upper(word) <> 'TODAY'", "spark"),
        ("day > '2026-01-01' AND word IN ('now', 'later')", "spark"),
        ("date_format(at, 'HH:mm') >= '08:30'", "spark"),
        ("at >= '2026-01-31 08:30'", "spark"),
        ("word >= '08:30'", "spark"),
        ("7 IN (id, 2)", "spark"),
        ("'a' IN ('b', 'c') OR 1 BETWEEN 0 AND id", "spark"),
        ("day > '1970-01-01'", "spark"),
        ("at::time >= '08:30'", "postgres"),
        ("at::time >= TIME '08:30'", "postgres"),
    ],
)
def test_a_word_or_a_time_that_stays_is_accepted(text: str, dialect: str) -> None:
    assert check_expression(text, COLUMNS, dialect)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("flag", column("flag")),
        ("at", column("at")),
        ("true", predicate.LiteralTerm(True, BOOLEAN)),
        ("id = 1", compare("id", "=", 1)),
        ("id == 1", compare("id", "=", 1)),
        ("(ID) <> (-1)", compare("id", "<>", -1)),
        ("id != 1", compare("id", "<>", 1)),
        ("id = 1L", compare("id", "=", 1)),
        ("email >= 'é'", compare("Email", ">=", "é")),
        ("`a.b` < ''", compare("a.b", "<", "")),
        ("flag = FALSE", compare("flag", "=", False)),
        ("day > DATE '2024-02-29'", compare("day", ">", date(2024, 2, 29))),
        ("price <= 5", compare("price", "<=", Decimal(5))),
        ("price = -.50", compare("price", "=", Decimal("-0.50"))),
        ("fine = 1.5", compare("fine", "=", Decimal("1.5"))),
        ("small = 32767", compare("small", "=", 32767)),
        ("id = -9223372036854775808", compare("id", "=", -(2**63))),
        ("id < small", predicate.Comparison(column("id"), Operator.LESS, column("small"))),
        (
            "1 < id",
            predicate.Comparison(
                predicate.LiteralTerm(1, COLUMNS["id"]), Operator.LESS, column("id")
            ),
        ),
        ("at IS NULL", predicate.IsNull(column("at"))),
        ("ratio IS NOT NULL", predicate.Not(predicate.IsNull(column("ratio")))),
        ("NOT word IS NULL", predicate.Not(predicate.IsNull(column("word")))),
        ("word IN ('a', 'b')", predicate.IsIn(column("word"), ("a", "b"))),
        ("id NOT IN (1)", predicate.Not(predicate.IsIn(column("id"), (1,)))),
        ("id BETWEEN 1 AND 2", predicate.And((compare("id", ">=", 1), compare("id", "<=", 2)))),
        (
            "flag AND id = 1 OR NOT other_flag",
            predicate.Or(
                (
                    predicate.And((column("flag"), compare("id", "=", 1))),
                    predicate.Not(column("other_flag")),
                )
            ),
        ),
        (
            "!flag = other_flag",
            predicate.Not(
                predicate.Comparison(column("flag"), Operator.EQUAL, column("other_flag"))
            ),
        ),
    ],
)
def test_what_means_the_same_everywhere_is_translated(text: str, wanted: Node) -> None:
    assert translate(text, COLUMNS) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "lower(word) = 'a'",
        "id + 1 = 2",
        "id = 1.0",
        "id = '1'",
        "id = 9223372036854775808",
        "small = 32768",
        "small IN (32768)",
        "ratio = 1.0",
        "ratio > id",
        "at > TIMESTAMP '2024-01-01 00:00:00'",
        "bytes = X'00'",
        "word = bytes",
        "price = 1.555",
        "price = 1.500",  # Spark would look for a wider common type
        "price = 123456789",
        "price = 1e1",
        "price = cost",
        "fine = 1",  # as decimal(10,0) there is no room for 35 digits more
        "day = '2024-01-01'",
        "day = DATE '2024-1-1'",
        "day = DATE '2024-02-30'",
        'word = "a"',
        "word = 'it''s'",
        r"word = 'a\n'",
        "word = 'a' 'b'",
        "word = r'a'",
        "word LIKE 'a%'",
        "word IN ('a', NULL)",
        "word IN (word)",
        "word = NULL",
        "id <=> 1",
        "id IS DISTINCT FROM 1",
        "flag IS TRUE",
        "flag = other_flag < flag",
        "(flag = other_flag) = flag",
        "id AND flag",
        "1 = 1",
        "1",
        "id = 1 -- one",
        "(id = 1) IS NULL",
        "coalesce(flag, true)",
        "id BETWEEN SYMMETRIC 1 AND 2",
    ],
)
def test_what_engines_may_read_differently_stays_in_spark(text: str) -> None:
    assert translate(text, COLUMNS) is None


def test_a_condition_must_be_true_or_false() -> None:
    check_condition("flag", COLUMNS)
    check_condition("length(word)", COLUMNS)  # Spark will tell
    with pytest.raises(BadExpression, match="has type bigint"):
        check_condition("id", COLUMNS)


def test_an_unknown_column_is_answered_with_the_closest() -> None:
    with pytest.raises(BadExpression) as error:
        columns_used("emial = 'x'", COLUMNS)
    assert error.value.hint == "did you mean Email?"


def test_many_alternatives_do_not_nest() -> None:
    found = translate(" OR ".join(f"id = {number}" for number in range(500)), COLUMNS)
    assert isinstance(found, predicate.Or)
    assert len(found.operands) == 500
