# SPDX-License-Identifier: Apache-2.0
"""Every mistake in a catalog is found in one reading, with its line and what to write instead."""

from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.catalog import load_catalog
from scrub.errors import CatalogError, Mistake

HEAD = """\
version: 1
stores:
  lake: {kind: delta, path: .}
"""
TABLE = """\
tables:
  t:
    store: lake
    columns: {id: {type: int}, word: {type: string}, Day: {type: date}}
    primary_key: [id]
"""
INDEX_LINE = 10


def mistakes(tmp_path: Path, text: str) -> tuple[Mistake, ...]:
    path = tmp_path / "scrub.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(CatalogError) as error:
        load_catalog(path)
    assert error.value.exit_code == 2
    return error.value.mistakes


def the_mistake(tmp_path: Path, text: str) -> Mistake:
    found = mistakes(tmp_path, text)
    assert len(found) == 1, found
    return found[0]


def test_all_mistakes_are_listed_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        "version: 7\n"
        "stores:\n"
        "  lake: {kind: delta, paht: .}\n"
        "tables:\n"
        "  t:\n"
        "    store: laek\n"
        "    columns:\n"
        "      id: {type: bigintt}\n"
        "    primary_key: [idd]\n",
    )
    assert [mistake.line for mistake in found] == [1, 3, 3, 6, 8, 9]
    hints = [mistake.hint for mistake in found]
    assert "did you mean path?" in hints
    assert "did you mean lake?" in hints
    assert "did you mean id?" in hints


def test_the_error_shows_file_line_and_hint(tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text(HEAD + "tabels: {}\n")
    with pytest.raises(CatalogError) as error:
        load_catalog(path)
    assert f"{path}:4: unknown key 'tabels' in the catalog" in str(error.value)
    assert "did you mean tables?" in str(error.value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("just text", 1, "must be a mapping"),
        ("- a\n- b", 1, "must be a mapping"),
        ("a: [1\nb: 2\n", 2, "not YAML"),
        ("a: b\n\tc: d\n", 2, "not YAML"),
        ("a: *nowhere\n", 1, "undefined alias"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a: \x07\n", 1, "not YAML"),
        ("[" * 5000, 1, "not YAML"),
    ],
)
def test_what_is_no_catalog_at_all(tmp_path: Path, text: str, line: int, words: str) -> None:
    first = mistakes(tmp_path, text)[0]
    assert words in first.message
    assert first.line == line


def test_missing_parts_are_named(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "stores:\n")
    assert [mistake.message for mistake in found] == [
        "the catalog has no 'version'",
        "the catalog has no 'stores'",
        "the catalog has no 'tables'",
    ]


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("{path: .}", "has no 'kind'"),
        ("{kind: mysql}", "cannot be 'mysql'"),
        ("{kind: postgres, url: x, path: y}", "unknown key 'path'"),
        ("{kind: delta}", "has no 'path'"),
        ("{kind: delta, path: ''}", "is empty"),
        ("{kind: delta, path: [a]}", "must be a single value"),
        ("{kind: delta, path: ., format: parquet}", "unknown key 'format'"),
        ("{kind: spark, path: .}", "has no 'format'"),
        ("{kind: spark, format: parquet}", "has no 'path'"),
        ("{kind: spark, format: excel, path: .}", "cannot be of format 'excel'"),
        ("{kind: spark, format: table, path: .}", "which its format does not use"),
        ("{kind: delta, path: ., options: {a: [1]}}", "must be a single value"),
        ("{kind: delta, path: ., options: [a]}", "must be a mapping"),
        ("{kind: delta, path: ., path: .}", "comes twice"),
        ("delta", "must be a mapping"),
    ],
)
def test_stores(tmp_path: Path, store: str, words: str) -> None:
    text = f"version: 1\nstores:\n  lake: {store}\n{TABLE}"
    found = mistakes(tmp_path, text)
    assert words in found[0].message
    assert {mistake.line for mistake in found} == {3}


def test_an_unset_variable_is_named(tmp_path: Path) -> None:
    text = HEAD.replace("path: .", 'path: "${TEST_UNSET_A}/x", options: {k: "${TEST_UNSET_B}"}')
    found = mistakes(tmp_path, text + TABLE)
    assert [mistake.message for mistake in found] == [
        "the environment variable TEST_UNSET_A is not set",
        "the environment variable TEST_UNSET_B is not set",
    ]


@pytest.mark.parametrize("text", ["${}", "${A-B}", "${A", "${1A}"])
def test_a_malformed_variable_is_a_mistake(tmp_path: Path, text: str) -> None:
    mistake = the_mistake(tmp_path, HEAD.replace("path: .", f'path: "{text}"') + TABLE)
    assert "not followed by the name of a variable" in mistake.message


def test_what_a_variable_holds_is_in_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_SECRET", "hunter2")
    text = (
        "version: 1\nstores:\n"
        '  a: {kind: spark, format: "${TEST_SECRET}", path: "${TEST_SECRET}"}\n'
        '  b: {kind: delta, path: "${TEST_SECRET}", options: {k: "${TEST_SECRET}"}, extra: 1}\n'
    )
    found = mistakes(tmp_path, text + TABLE.replace("store: lake", "store: hunter"))
    assert len(found) == 3
    assert "hunter2" not in repr(found)


def test_a_variable_that_is_set_but_empty_gives_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_EMPTY", "")
    mistake = the_mistake(tmp_path, HEAD.replace("path: .", 'path: "${TEST_EMPTY}"') + TABLE)
    assert "is empty once ${TEST_EMPTY} is filled in" in mistake.message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    store: lake\n", "", "has no 'store'"),
        ("store: lake", "store: lakes", "unknown store 'lakes'"),
        ("store: lake", "store: lake\n    layout: rows", "cannot be 'rows'"),
        ("store: lake", "store: lake\n    relation: ../t", "lies outside store 'lake'"),
        ("store: lake", "store: lake\n    relation: /t", "lies outside store 'lake'"),
        ("store: lake", "store: lake\n    store: lake", "comes twice"),
        ("store: lake", "store: lake\n    <<: {}", "merge keys"),
        ("store: lake", "store: lake\n    idnexes: {}", "unknown key 'idnexes'"),
        ("    primary_key: [id]\n", "", "has no 'primary_key'"),
        ("[id]", "[]", "is empty"),
        ("[id]", "id", "must be a list"),
        ("[id]", "[id, id]", "comes twice"),
        ("[id]", "[ID]", "has no column 'ID'"),
        ("[id]", "[{a: b}]", "must be a single value"),
        ("word: {type: string}", "ID: {type: string}", "differ only in case"),
        ("word: {type: string}", "word: string", "must be a mapping"),
        ("word: {type: string}", "word: {type: text}", "'text' is not a type"),
        ("word: {type: string}", 'word: {type: "decimal(99,2)"}', "precision is 1 to 38"),
        ("word: {type: string}", "word: {}", "has no 'type'"),
        ("word: {type: string}", "word: {type: string, nullable: 'no'}", "is a switch"),
        ("word: {type: string}", '"": {type: string}', "is empty"),
        ("word: {type: string}", '"a\\n": {type: string}', "blank"),
        ("word: {type: string}", '"a\\x01b": {type: string}', "cannot be shown"),
        ("word: {type: string}", "__scrub_x: {type: string}", "kept for columns"),
        ("  t:", "  -t:", "taken for an option"),
        ("  t:", "  ' t':", "begins or ends with a blank"),
    ],
)
def test_tables(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in TABLE
    assert words in mistakes(tmp_path, HEAD + TABLE.replace(old, new))[0].message


def test_a_table_of_pairs_needs_its_number_and_its_columns(tmp_path: Path) -> None:
    text = f"{HEAD}tables:\n  pairs: {{layout: kv, store: s, primary_key: [id]}}\n"
    messages = [mistake.message for mistake in mistakes(tmp_path, text)]
    assert any("has no 'table_id'" in message for message in messages)
    assert any("has no 'columns'" in message for message in messages)


PAIRS = """\
tables:
  p:
    store: lake
    layout: kv
    table_id: 106
    columns: {id: {type: bigint}, a: {type: bigint}, b: {type: decimal}, c: {type: string}}
    primary_key: [id]
"""
PAIRS_LINE = 11


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        (
            "families: {f: {id: 1, columns: [a]}, g: {id: 1, columns: [b]}}",
            "family 'g' has the same id as family 'f'",
            "write the number that its keys end with",
        ),
        (
            "families: {f: {id: 1, columns: [a]}, g: {id: 2, columns: [b, a]}}",
            "column 'a' is in family 'g' and in family 'f'",
            "leave it in one of them",
        ),
        ("families: {f: {id: 1, columns: [a, a]}}", "'a' comes twice in family 'f'", "leave it"),
        (
            "families: {f: {id: 1, columns: [a], default: b}}",
            "the default of family 'f' is 'b', which is not one of its columns",
            "write one of [a], or leave `default` out",
        ),
        (
            "families: {f: {id: 0, default: a}, g: {id: 1, columns: [a]}}",
            "the default of family 'f' is 'a', which is not one of its columns",
            "write one of [id, b, c], or leave `default` out",
        ),
        ("families: {f: {columns: [a]}}", "family 'f' has no 'id'", "the number at the end"),
        ("families: {f: {id: -1, columns: [a]}}", "is a number, not '-1'", None),
        ("families: {f: {id: ², columns: [a]}}", "is a number, not '²'", None),
        (
            "indexes: {x: {index_id: 2, columns: [a], storing: [a]}}",
            "'storing' of index 'x' names 'a', which is in the index's key already",
            "leave it out",
        ),
        (
            "indexes: {x: {index_id: 2, columns: [a], storing: [id]}}",
            "'storing' of index 'x' names 'id', which is in the index's key already",
            "leave it out",
        ),
        (
            "indexes: {x: {index_id: 2, columns: [a], storing: [c, c]}}",
            "'c' comes twice in 'storing' of index 'x'",
            "leave it out",
        ),
        (
            "indexes: {x: {index_id: 2, columns: [a, {column: a, order: desc}]}}",
            "'a' comes twice in 'columns' of index 'x'",
            "a key has each column once",
        ),
        ("indexes: {x: {index_id: 2, columns: []}}", "'columns' of index 'x' is empty", "name at"),
        ("indexes: {x: {index_id: 1, columns: [a]}}", "same index_id as the primary", "write the"),
        ("indexes: {x: {index_id: 0, columns: [a]}}", "'index_id' of index 'x' cannot be 0", None),
        (
            "indexes: {x: {index_id: 4294967296, columns: [a]}}",
            "'index_id' of index 'x' cannot be 4294967296",
            "write a number from 1 to 4294967295",
        ),
        ("relation: ../p", "relation '../p' lies outside store 'lake'", "write its path"),
    ],
)
def test_pairs(tmp_path: Path, text: str, words: str, hint: str | None) -> None:
    mistake = the_mistake(tmp_path, f"{HEAD}{PAIRS}    {text}\n")
    assert words in mistake.message
    assert mistake.line == PAIRS_LINE
    assert hint is None or (mistake.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[id]", "[id, a, id]", "'id' comes twice in 'primary_key' of table 'p'"),
        ("[id]", "[]", "'primary_key' of table 'p' is empty"),
        ("a: {type: bigint}", "a: {type: bigint, id: 0}", "'id' of column 'a' cannot be 0"),
        (
            "a: {type: bigint}",
            "a: {type: bigint, id: 1}",
            "column 'a' has the same id as column 'id'",
        ),
        ("table_id: 106", "table_id: 0", "'table_id' of table 'p' cannot be 0"),
    ],
)
def test_tables_of_pairs(tmp_path: Path, old: str, new: str, words: str) -> None:
    mistake = the_mistake(tmp_path, HEAD + PAIRS.replace(old, new))
    assert words in mistake.message


def test_two_tables_of_one_id_in_one_relation(tmp_path: Path) -> None:
    second = PAIRS.partition("\n")[2].replace("  p:", "  q:") + "    relation: ./p\n"
    mistake = the_mistake(tmp_path, HEAD + PAIRS + second)
    assert mistake.line == PAIRS_LINE
    assert mistake.message == ("table 'q' has the table_id 106 in relation './p', as has table 'p'")
    assert mistake.hint is not None
    assert "`table_id`" in mistake.hint
    path = tmp_path / "scrub.yaml"
    path.write_text(HEAD + PAIRS + second.replace("106", "107"))
    assert set(load_catalog(path).tables) == {"p", "q"}


def test_an_index_of_pairs_in_another_table_s_relation(tmp_path: Path) -> None:
    second = PAIRS.partition("\n")[2].replace("  p:", "  q:")
    index = "    indexes: {x: {index_id: 2, columns: [a], relation: p}}\n"
    mistake = the_mistake(tmp_path, HEAD + PAIRS + second + index)
    assert "index 'x' of table 'q' has the table_id 106" in mistake.message


def test_what_pairs_may_say_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text(
        f"{HEAD}{PAIRS}"
        "    families: {f: {id: 0, default: c}, g: {id: 3, columns: [a], default: a}}\n"
        "    indexes:\n"
        "      x: {index_id: 2, columns: [id, {column: b, order: desc}], storing: [a, c]}\n"
        "      y: {index_id: 4, columns: [a], relation: elsewhere}\n"
        "      z: {index_id: 5, columns: [b], relation: elsewhere}\n"
    )
    table = load_catalog(path).tables["p"].kv
    assert table is not None
    assert [(f.id, f.columns, f.default) for f in table.families] == [
        (0, (1, 3, 4), 4),
        (3, (2,), 2),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "has no 'columns'"),
        ("{columns: []}", "has no indexed columns"),
        ("{columns: word}", "must be a list"),
        ("{columns: [wrod]}", "has no column 'wrod'"),
        ("{columns: [word, word]}", "two columns named 'word'"),
        ("{columns: [word], storing: [id]}", "two columns named 'id'"),
        ("{columns: [word], storing: [word]}", "two columns named 'word'"),
        ("{columns: [{expr: upper(word), as: ID}]}", "two columns named 'id'"),
        ("{columns: [word, {expr: upper(word), as: WORD}]}", "two columns named 'WORD'"),
        ("{columns: [{column: word, order: down}]}", "cannot be 'down'"),
        ("{columns: [{column: word, as: w}]}", "unknown key 'as'"),
        ("{columns: [{order: desc}]}", "has no 'column'"),
        ("{columns: [{expr: upper(word)}]}", "has no 'as'"),
        ("{columns: [{expr: upper(word), as: ''}]}", "is empty"),
        ("{columns: [{expr: upper(word), as: -x}]}", "taken for an option"),
        ("{columns: [{expr: upper(word), as: w, type: texty}]}", "is not a type"),
        ("{columns: [{expr: upper(wrod), as: w}]}", "unknown column 'wrod'"),
        ("{columns: [{expr: 'upper(word', as: w}]}", "does not parse"),
        ("{columns: [word], storing: [{column: Day}]}", "unknown key 'column'"),
        ("{columns: [word], storing: Day}", "must be a list"),
        ("{columns: [word], where: id}", "has type int, so it is no condition"),
        ("{columns: [word], where: rand() < 0.5}", "uses rand"),
        ("{columns: [word], where: x = 1}", "unknown column 'x'"),
        ("{columns: [word], unique: 1}", "is a switch"),
        ("{columns: [word], nulls: drop}", "cannot be 'drop'"),
        ("{columns: [word], store: laek}", "unknown store 'laek'"),
        ("{columns: [word], relation: t}", "as has table 't'"),
        ("{columns: [word], relation: ./t}", "as has table 't'"),
        ("{columns: [word], relation: ../x}", "lies outside store"),
        ("{columns: [word], own: true}", "its table is not in PostgreSQL"),
        ("{columns: [word], native: true}", "its table is not in PostgreSQL"),
        (
            "{columns: [word], dialect: postgres}",
            "in PostgreSQL's dialect, but its table is elsewhere",
        ),
        ("{columns: [word], reflects: yesterday}", "'yesterday' is not a time"),
        ("{columns: [word], reflects: -1}", "'-1' is not a version"),
        ("{columns: [word], reflects: {version: x}}", "'x' is not a version"),
        ("{columns: [word], reflects: {version: 1, time: 2026-01-01}}", "one version, time or"),
        ("{columns: [word], reflects: [1]}", "one version, time or column"),
        ("{columns: [word], reflects: {verison: 1}}", "unknown key 'verison'"),
        ("[word]", "must be a mapping"),
    ],
)
def test_indexes(tmp_path: Path, text: str, words: str) -> None:
    full = f"{HEAD}{TABLE}    indexes:\n      x: {text}\n"
    found = mistakes(tmp_path, full)
    assert words in found[0].message
    assert {mistake.line for mistake in found} == {INDEX_LINE}


def test_an_expression_that_yaml_cut_at_a_comma_is_explained(tmp_path: Path) -> None:
    text = "{columns: [{expr: substr(word, 1, 2), as: w}]}"
    found = mistakes(tmp_path, f"{HEAD}{TABLE}    indexes:\n      x: {text}\n")
    assert any("put the expression in quotes" in (mistake.hint or "") for mistake in found)


def test_two_indexes_cannot_share_a_relation(tmp_path: Path) -> None:
    text = (
        f"{HEAD}{TABLE}    indexes:\n"
        "      x: {columns: [word], relation: shared}\n"
        "      y: {columns: [Day], relation: shared}\n"
    )
    mistake = the_mistake(tmp_path, text)
    assert mistake.line == INDEX_LINE + 1
    assert "as has index 'x' of table 't'" in mistake.message


def test_two_tables_cannot_share_a_relation(tmp_path: Path) -> None:
    second = TABLE.partition("\n")[2].replace("  t:", "  u:") + "    relation: t\n"
    mistake = the_mistake(tmp_path, HEAD + TABLE + second)
    assert mistake.message == "table 'u' has the relation 't', as has table 't'"
    assert mistake.hint == "describe a relation once, with all its indexes"


@pytest.mark.parametrize("path", [".", "./", "./sub/.."])
def test_two_stores_of_one_path_are_one_place(tmp_path: Path, path: str) -> None:
    other = f"{HEAD}  other: {{kind: delta, path: {path}}}\n{TABLE}"
    index = "    indexes: {x: {columns: [word], relation: t, store: other}}\n"
    mistake = the_mistake(tmp_path, other + index)
    assert "has the relation 't', as has table 't'" in mistake.message


DATABASE = """\
version: 1
stores:
  lake: {kind: postgres, url: postgresql://localhost/shop}
  again: {kind: postgres, url: postgresql://localhost/shop, schema: public}
  else: {kind: postgres, url: postgresql://localhost/shop, schema: elsewhere}
"""


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("{columns: [word], store: again, relation: t}", "as has table 't'"),
        ("{columns: [word], relation: public.t}", "as has table 't'"),
        ("{columns: [word], own: true, relation: y}", "as has index 'y' of table 't'"),
    ],
)
def test_relations_of_one_database(tmp_path: Path, index: str, words: str) -> None:
    text = f"{DATABASE}{TABLE}    indexes:\n      y: {{columns: [id], own: true}}\n"
    assert words in the_mistake(tmp_path, f"{text}      x: {index}\n").message


@pytest.mark.parametrize("spelling", ["own", "native"])
def test_an_own_index_has_an_older_spelling(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text(f"{DATABASE}{TABLE}    indexes: {{t_pkey: {{{spelling}: true}}}}\n")
    assert load_catalog(path).tables["t"].index("t_pkey").is_own


@pytest.mark.parametrize("values", [("true", "true"), ("true", "false"), ("false", "true")])
def test_an_own_index_is_not_spelled_twice(tmp_path: Path, values: tuple[str, str]) -> None:
    own, native = values
    index = f"{{\n        own: {own},\n        native: {native},\n        columns: [id]}}\n"
    mistake = the_mistake(tmp_path, f"{DATABASE}{TABLE}    indexes:\n      t_pkey: {index}")
    assert mistake.message == "index 't_pkey' has both 'own' and 'native'"
    assert mistake.hint == "keep `own`; `native` is its older spelling"
    lines = (tmp_path / "scrub.yaml").read_text().splitlines()
    assert lines[mistake.line - 1] == f"        native: {native},"


def test_the_same_relation_in_two_schemas_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    index = "    indexes: {x: {columns: [word], relation: t, store: else}}\n"
    path.write_text(DATABASE + TABLE + index)
    assert load_catalog(path).tables["t"].index("x").relation == "t"


def test_the_same_relation_in_two_stores_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    other = HEAD + "  other: {kind: delta, path: ./other}\n" + TABLE
    path.write_text(f"{other}    indexes: {{x: {{columns: [word], relation: t, store: other}}}}\n")
    assert load_catalog(path).tables["t"].index("x").relation == "t"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("checks: {positive: idd > 0}", "check 'positive' uses an unknown column 'idd'"),
        ("checks: {positive: [id]}", "must be a single value"),
        ("checks: {positive: word}", "has type string, so it is no condition"),
        ("checks: {positive: id + 1}", "is a number, so it is no condition"),
        ("checks: {positive: 5}", "is a number, so it is no condition"),
        ("checks: {positive: (NULL)}", "is always NULL, so it is no condition"),
        ("checks: {positive: sum(id) > 1}", "contains an aggregate; it must follow from the row"),
        ("checks: {positive: id > 0;}", "is not one expression with one value"),
        ("foreign_keys: {f: {columns: [id], references: u}}", "unknown table 'u'"),
        ("foreign_keys: {f: {columns: [x], references: t}}", "unknown column 'x'"),
        ("foreign_keys: {f: {columns: [id, word], references: t}}", "the key of t 1"),
        ("foreign_keys: {f: {columns: [id]}}", "has no 'references'"),
        ("foreign_keys: {f: {references: t}}", "has no 'columns'"),
    ],
)
def test_constraints(tmp_path: Path, text: str, words: str) -> None:
    assert words in the_mistake(tmp_path, f"{HEAD}{TABLE}    {text}\n").message


def test_a_foreign_key_names_each_column_once(tmp_path: Path) -> None:
    text = f"{HEAD}{TABLE}    foreign_keys: {{f: {{columns: [id, id], references: t}}}}\n"
    first = mistakes(tmp_path, text)[0]
    assert first.message == "'id' comes twice in the columns of foreign key 'f'"


def test_a_foreign_key_may_refer_to_a_table_further_down(tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    later = "  u: {store: lake, columns: {id: {type: int}}, primary_key: [id]}\n"
    path.write_text(
        f"{HEAD}{TABLE}    foreign_keys: {{f: {{columns: [id], references: u}}}}\n{later}"
    )
    assert load_catalog(path).tables["t"].foreign_keys[0].references == "u"


KEYS = ("version", "stores", "tables", "kind", "path", "store", "columns", "indexes", "primary_key")
KEYS += ("type", "expr", "as", "where", "reflects", "options", "x", "id", "index_id", "default")
yaml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("id"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


PLACES = ["root", "stores", "tables", "table", "index", "pairs", "families", "index of pairs"]


@settings(max_examples=250, deadline=None)
@given(value=yaml_values, place=st.sampled_from(PLACES))
def test_whatever_the_file_holds_is_answered_with_mistakes(
    value: object, place: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = {"store": "s", "columns": {"id": {"type": "int"}}, "primary_key": ["id"]}
    root = {"version": 1, "stores": {"s": {"kind": "delta", "path": "."}}, "tables": {"t": table}}
    match place:
        case "root":
            root = value  # type: ignore[assignment]
        case "stores" | "tables":
            root[place] = value
        case "table":
            root["tables"] = {"t": value}
        case "index":
            table["indexes"] = {"x": value}
        case "pairs":
            root["tables"] = {"t": {"layout": "kv", "table_id": 1, "x": value} | table}
        case "families":
            table |= {"layout": "kv", "table_id": 1, "families": value}
        case "index of pairs":
            table |= {"layout": "kv", "table_id": 1, "indexes": {"x": value}}
    path = tmp_path_factory.mktemp("any") / "scrub.yaml"
    path.write_text(yaml.safe_dump(root), encoding="utf-8")
    # Nothing but a CatalogError may come out.
    with suppress(CatalogError):
        load_catalog(path)


@pytest.mark.parametrize("days", ["0", "-1", "soon", "inf", "nan"])
def test_days_of_the_journal_are_a_number_that_can_pass(tmp_path: Path, days: str) -> None:
    mistake = the_mistake(tmp_path, f"journal_days: {days}\n" + HEAD + TABLE)
    assert mistake.line == 1
    assert mistake.message == f"'{days}' is not a number of days"


@pytest.mark.parametrize("size", ["-1", "plenty", "1.5 GiB"])
def test_a_bound_in_bytes_is_a_size(tmp_path: Path, size: str) -> None:
    mistake = the_mistake(tmp_path, f"in_process_bytes: {size}\n" + HEAD + TABLE)
    assert mistake.line == 1
    assert mistake.message == f"'{size}' is no number of bytes"
