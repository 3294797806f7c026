# SPDX-License-Identifier: Apache-2.0
"""A first catalog from a database: what is declared is taken over, the rest is a marked guess."""

from contextlib import closing
from pathlib import Path

import pytest
from psycopg import conninfo

from scrub.app.catalog_init.from_database import init_database, is_database
from scrub.catalog import load_catalog
from scrub.cli import main
from scrub.errors import CatalogError, ScrubError, UsageError
from scrub.model.table import Store
from scrub.stores.postgres.connections import without_password
from scrub.stores.postgres.repairs.journal import PostgresJournal
from scrub.stores.postgres.repairs.recovery import RecoveringPostgres
from tests.postgres_server import Database


@pytest.fixture
def url(database: Database) -> str:
    """A url, for that is what people have."""
    parts = conninfo.conninfo_to_dict(database.url)
    port = f"&port={parts['port']}" if "port" in parts else ""
    return f"postgresql://{parts['user']}:hush-hush@/{parts['dbname']}?host={parts['host']}{port}"


@pytest.fixture
def shop(database: Database) -> Database:
    database.run(
        "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL)",
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int REFERENCES customers,"
        " status text, amount numeric(10,2) CHECK (amount >= 0),"
        " tags text[] CHECK (array_length(tags, 1) < 5))",
        "CREATE INDEX open_orders ON orders (lower(status)) WHERE status = 'open'",
        "INSERT INTO customers SELECT i, 'c' FROM generate_series(1, 9) i",
        "INSERT INTO orders SELECT i, 1 + i % 9, 'open', i FROM generate_series(1, 99) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
    )
    return database


def test_the_catalog_holds_what_the_database_declares(
    shop: Database, url: str, tmp_path: Path
) -> None:
    path = tmp_path / "scrub.yaml"
    result = init_database(url, path)
    assert result.tables == {
        "customers": ("customers_pkey",),
        "orders": ("by_customer", "open_orders", "orders_pkey"),
    }
    orders = load_catalog(path).tables["orders"]
    assert [(c.name, str(c.type), c.nullable) for c in orders.columns] == [
        ("id", "bigint", False),
        ("customer_id", "int", True),
        ("status", "string", True),
        ("amount", "decimal(10,2)", True),
    ]
    assert orders.primary_key == ("id",)
    assert [(key.columns, key.references) for key in orders.foreign_keys] == [
        (("customer_id",), "customers")
    ]
    assert list(orders.checks) == ["orders_amount_check"]
    assert [(i.name, i.is_own, i.unique) for i in orders.indexes] == [
        ("by_customer", False, False),
        ("open_orders", True, False),
        ("orders_pkey", True, True),
    ]


def test_guesses_are_marked_and_facts_are_not(shop: Database, url: str, tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    init_database(url, path)
    lines = path.read_text().splitlines()
    guesses = [
        lines[n + 1].split(":")[0].strip() for n, line in enumerate(lines) if "guess:" in line
    ]
    assert guesses == ["by_customer"]
    assert any("left out: tags, is an array" in line for line in lines)


@pytest.mark.parametrize("is_guessed", [True, False])
def test_a_look_at_guesses_is_asked_for_only_where_there_are_some(
    shop: Database, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_guessed: bool
) -> None:
    if not is_guessed:
        shop.run("DROP TABLE orders__by_customer")
    assert main.run(["init", url, "--catalog", str(tmp_path / "scrub.yaml")]) == 0
    assert ("marked `guess`" in capsys.readouterr().err) == is_guessed
    assert ("guess" in (tmp_path / "scrub.yaml").read_text()) == is_guessed


def test_no_password_is_written(shop: Database, url: str, tmp_path: Path) -> None:
    init_database(url, tmp_path / "scrub.yaml")
    assert "hush-hush" not in (tmp_path / "scrub.yaml").read_text()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://u:p@h:5432/d?sslmode=require", "postgresql://u@h:5432/d?sslmode=require"),
        ("postgresql://u:p%40q@/d?host=/tmp/x", "postgresql://u@/d?host=/tmp/x"),
        ("postgres://h/d?password=p&user=u", "postgres://h/d?user=u"),
        ("postgresql:///d", "postgresql:///d"),
    ],
)
def test_a_url_without_its_password(given: str, kept: str) -> None:
    assert without_password(given) == kept
    assert is_database(given)


def test_a_connection_string_is_a_database_too(
    shop: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = conninfo.make_conninfo("", **conninfo.conninfo_to_dict(shop.url), password="hush-hush")
    assert "://" not in given
    catalog = tmp_path / "scrub.yaml"
    assert main.run(["init", given, "--catalog", str(catalog)]) == 0
    printed = capsys.readouterr()
    assert "the password was left out" in printed.err
    assert "hush-hush" not in printed.out + printed.err + catalog.read_text()
    assert main.run(["catalog", "validate", "--catalog", str(catalog)]) == 0


@pytest.mark.parametrize(
    "given",
    [
        "host=127.0.0.1 port=1 user=u password=hush-hush",
        "host=127.0.0.1 port=1 user=u sslpassword=hush-hush passfile=/nowhere",
        "postgresql//u:hush-hush@h/d",
        "postgres:/u:hush-hush@h",
        "postgresql:u:hush-hush@h",
        "jdbc:postgresql://h/d?user=u&password=hush-hush",
        " PASSWORD = 'hush-hush and more'",
        "host=h passwrd=hush-hush user=u",
        "host=h user=u password hush-hush",
        "u:hush-hush@h/d",
        "u:hush-hush@postgresql://h/d",
        "postgresql%3A%2F%2Fu%3Ahush-hush%40h%2Fd",
        "postgresql://u:hush-hush@127.0.0.1:1/d?password=hush%2Dhush",
        "postgresql://u:hush-hush@h:x/d",
        "postgresql://u:hush@hush-hush@h/d",
        "mysql://u:hush-hush@h/d",
    ],
)
def test_what_looks_like_a_database_is_never_repeated(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["init", given, "--catalog", str(tmp_path / "scrub.yaml")]) == 2
    printed = capsys.readouterr()
    assert "error: " in printed.err
    assert "hush" not in printed.out + printed.err
    assert "no directory" not in printed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["init", ".", "--catalog", "{}"],
        ["check", "table", "t", "--catalog", "{}"],
        ["check", "table", "{}"],
        ["check", "table", "t", "--index", "{}"],
        ["check", "table", "t", "--conf", "{}"],
        ["check", "table", "t", "--output", "{}/x"],
        ["check", "table", "t", "--as-of", "{}"],
        ["check", "{}"],
        ["{}"],
    ],
)
@pytest.mark.parametrize("secret", ["postgresql://u:hush-hush@h/d", "u:hush-hush@h"])
def test_no_argument_is_repeated_with_a_password_in_it(
    arguments: list[str],
    secret: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scrub.yaml").write_text(
        "version: 1\nstores: {s: {kind: delta, path: .}}\n"
        "tables: {t: {store: s, columns: {id: {type: int}}, primary_key: [id]}}\n"
    )
    assert main.run([text.replace("{}", secret) for text in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.strip()
    assert "hush" not in printed.out + printed.err


@pytest.mark.parametrize(
    "store",
    [
        "{kind: 'postgresql://u:hush-hush@h/d'}",
        "{kind: postgres, 'postgresql://u:hush-hush@h/d': x}",
        "{kind: postgres, url: 'postgresql://u:hu${sh-hush@h/d'}",
        "{kind: postgres, url: ['postgresql://u:hush-hush@h/d']}",
        "{kind: postgres, options: 'password=hush-hush'}",
        "{kind: postgres, options: {'password=hush-hush': ''}}",
        "{kind: delta, path: 's3://AKIA:hush-hush@bucket', format: parquet}",
        "{kind: spark, format: 'jdbc:postgresql://h/d?password=hush-hush'}",
    ],
)
def test_no_mistake_of_a_catalog_repeats_a_password(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(f"version: 1\nstores: {{s: {store}}}\ntables: {{}}\n")
    for command in ("validate", "show"):
        assert main.run(["catalog", command, "--catalog", str(catalog)]) == 2
        printed = capsys.readouterr()
        assert "hush" not in printed.out + printed.err


def test_an_empty_schema_is_told(database: Database, url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table in schema public"):
        init_database(url, tmp_path / "scrub.yaml")
    assert not (tmp_path / "scrub.yaml").exists()


def test_a_catalog_that_is_there_is_kept(shop: Database, url: str, tmp_path: Path) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text("mine")
    with pytest.raises(ScrubError, match="already"):
        init_database(url, path)
    assert path.read_text() == "mine"


def test_the_url_of_another_database_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="no databases of kind mysql") as caught:
        is_database("mysql://u:hush-hush@h/d")
    assert "hush-hush" not in str(caught.value) + str(caught.value.hint)


def test_a_unique_index_is_a_marked_guess_and_without_one_a_table_is_left_out(
    database: Database, url: str, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE by_index (code text NOT NULL, area int NOT NULL, note text, nick text)",
        "CREATE UNIQUE INDEX pair ON by_index (area, code) INCLUDE (note)",
        "CREATE UNIQUE INDEX nullable ON by_index (nick)",
        "CREATE UNIQUE INDEX a_part ON by_index (code) WHERE area = 1",
        "CREATE UNIQUE INDEX made ON by_index (lower(code))",
        "INSERT INTO by_index VALUES ('a', 1, 'x', 'n'), ('b', 1, 'y', 'm')",
        "CREATE TABLE heap (id int NOT NULL, word text, length int)",
        "INSERT INTO heap SELECT i, 'w', 1 FROM generate_series(1, 9) i",
        "CREATE TABLE odd (id int[] PRIMARY KEY, word text)",
    )
    path = tmp_path / "scrub.yaml"
    result = init_database(url, path)
    assert load_catalog(path).tables["by_index"].primary_key == ("area", "code")
    assert list(result.tables) == ["by_index"]
    text = path.read_text()
    assert "# guess: no primary key is declared; the unique index pair has only columns" in text
    for reason in (
        "heap: no primary key is declared, and no unique index has only columns that are NOT NULL",
        "odd: its primary key has id, which cannot be read",
    ):
        assert f"#   {reason}" in text
    assert "write its primary key yourself" in result.unusable["heap"]


def test_a_table_without_a_primary_key_may_still_be_an_index_of_another(
    shop: Database, url: str, tmp_path: Path
) -> None:
    assert "by_customer" in init_database(url, tmp_path / "scrub.yaml").tables["orders"]


def test_own_indexes_that_cannot_be_read_are_written_as_comments(
    database: Database, url: str, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, words tsvector, place int, key int)",
        "CREATE INDEX t_gin ON t USING gin (words)",
        "CREATE INDEX t_gist ON t USING gist (words)",
        "CREATE INDEX t_brin ON t USING brin (place)",
        "CREATE INDEX t_hash ON t USING hash (key)",
        "CREATE INDEX t_broken ON t (place)",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_broken'::regclass",
    )
    path = tmp_path / "scrub.yaml"
    result = init_database(url, path)
    assert result.tables == {"t": ("t_broken", "t_pkey")}
    assert [index.name for index in load_catalog(path).tables["t"].indexes] == list(
        result.tables["t"]
    )
    lines = [line.strip() for line in path.read_text().splitlines()]
    for method in ("gin", "gist", "brin", "hash"):
        assert (
            f"# left out: t_{method}: {{own: true}}, only B-trees can be read in their order; "
            f"it is {method}"
        ) in lines
    assert "# it is not valid: REINDEX or drop it" in lines


def test_a_table_all_of_whose_indexes_are_left_out_has_none(
    database: Database, url: str, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, place int)",
        "CREATE INDEX t_hash ON t USING hash (place)",
        "CREATE TABLE u (id int, place int)",
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        'ALTER TABLE t ADD CONSTRAINT "-t" PRIMARY KEY (id)',
    )
    path = tmp_path / "scrub.yaml"
    assert init_database(url, path).tables == {"t": ()}
    assert load_catalog(path).tables["t"].indexes == ()


def test_an_own_index_with_the_name_of_an_index_table_gets_another(
    shop: Database, url: str, tmp_path: Path
) -> None:
    shop.run("CREATE INDEX by_customer ON orders (customer_id)")
    path = tmp_path / "scrub.yaml"
    init_database(url, path)
    own = load_catalog(path).tables["orders"].index("by_customer_own")
    assert (own.is_own, own.relation) == (True, "by_customer")


DERIVED = {
    "email_lower": "lower(email)",
    "mail": "email",
    "word_up": "upper(word)",
    "word_bare": "btrim(word)",
    "at_day": "(at AT TIME ZONE 'UTC')::date",
    "local_day": "local::date",
    "at_month": "date_trunc('month', at, 'UTC')",
    "local_hour": "date_trunc('hour', local)",
    "on_month": "date_trunc('month', born::timestamp)::date",
    "at_text": "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM')",
    "born_text": "to_char(born, 'YYYY-MM')",
    "born_year": "extract(year FROM born)::int",
    "at_year": "extract(year FROM at AT TIME ZONE 'UTC')::int",
    "email_start": "substr(email, 1, 7)",
    "n_text": "n::text",
}


def test_columns_that_follow_from_others_are_offered_in_the_databases_dialect(
    database: Database, url: str, tmp_path: Path
) -> None:
    """What is offered gives the index's values in the database itself, in any time zone."""
    listed = ", ".join(f"{text} AS {name}" for name, text in DERIVED.items())
    database.run(
        "CREATE TABLE people (id int PRIMARY KEY, email text, word text, at timestamptz,"
        " local timestamp, born date, n int)",
        "INSERT INTO people SELECT i, 'Person' || i || '@X', ' Word ' || i || ' ',"
        " '2024-01-31 22:30Z'::timestamptz + i * interval '37 hours',"
        " '2023-05-01 01:10'::timestamp + i * interval '31 hours', date '1970-01-01' + i * 40,"
        " i % 50 FROM generate_series(1, 400) i",
        f"CREATE TABLE people__by_all AS SELECT {listed}, id FROM people",
    )
    path = tmp_path / "scrub.yaml"
    assert init_database(url, path).to_fill_in == ()
    index = load_catalog(path).tables["people"].index("by_all")
    assert (index.dialect, [column.name for column in index.key]) == ("postgres", list(DERIVED))
    for column in index.key:
        differing = (
            f"SELECT count(*) FROM people p JOIN people__by_all i ON i.id = p.id "
            f"WHERE (SELECT {column.source} FROM people q WHERE q.id = p.id) "
            f"IS DISTINCT FROM i.{column.name}"
        )
        database.run("SET TimeZone = 'America/New_York'")
        assert database.rows(differing) == [(0,)], column.source


def test_what_nothing_explains_and_who_has_fewer_entries_is_to_be_filled_in(
    shop: Database, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.run(
        "CREATE TABLE orders__by_month AS SELECT 'm' || id * 7 % 11 AS month, customer_id, id"
        " FROM orders WHERE id <= 40"
    )
    path = tmp_path / "scrub.yaml"
    assert main.run(["init", url, "--catalog", str(path)]) == 0
    told = capsys.readouterr().err
    assert "fill in: orders.by_month: how month (string) is computed from a row of orders" in told
    assert "fill in: orders.by_month: which rows of orders have an entry" in told
    with pytest.raises(CatalogError) as error:
        load_catalog(path)
    assert [mistake.message for mistake in error.value.mistakes] == [
        "fill in how 'month' of index 'by_month' is computed from the row",
        "fill in which rows index 'by_month' covers",
    ]
    # Every command refuses it by name, with file and line.
    assert main.run(["catalog", "validate", "--catalog", str(path)]) == 2
    assert f"{path}:{error.value.mistakes[0].line}: fill in how" in capsys.readouterr().err
    assert main.run(["check", "table", "orders", "--catalog", str(path)]) == 2


def test_what_scrub_itself_keeps_in_a_database_is_left_out(
    shop: Database, url: str, tmp_path: Path
) -> None:
    store = Store(name="shop", kind="postgres", url=shop.url, schema="public")
    with closing(RecoveringPostgres(store)) as repairs:
        PostgresJournal("public").create(repairs.connection)
    shop.run(
        "CREATE TABLE scrub_builds (id bigint PRIMARY KEY)",
        "CREATE TABLE scrub_build_ranges (id bigint PRIMARY KEY)",
        "CREATE TABLE orders__by_customer__suspects (id bigint PRIMARY KEY)",
        "CREATE TABLE orders__by_customer__recorded (id bigint PRIMARY KEY)",
        "CREATE TABLE other__suspects (id bigint PRIMARY KEY)",
        "ALTER TABLE orders__by_customer ADD scrub_deleted boolean",
    )
    result = init_database(url, tmp_path / "scrub.yaml")
    assert set(result.tables) == {"customers", "orders", "other__suspects"}
    assert not result.unusable
    assert not result.to_fill_in
