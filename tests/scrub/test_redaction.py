# SPDX-License-Identifier: Apache-2.0
"""What looks like a secret is not repeated, and what does not look like one is not touched."""

import pytest
from psycopg import pq

from scrub.errors import CatalogError, Mistake, ScrubError
from scrub.redaction import looks_like_connection, redacted
from scrub.stores.postgres.connections import (
    SECRETS,
    conninfo_of,
    without_password,
    without_secrets,
)

SECRET = "hush-Hush"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://clerk:{SECRET}@host/shop",
        f"postgresql://:{SECRET}@host/shop",
        f"postgresql://clerk:pass word @ {SECRET}@host/shop",
        f"postgresql//clerk:{SECRET}@host/shop",
        f"postgres:/clerk:{SECRET}@host/shop",
        f"clerk:{SECRET}@host",
        f"clerk:a/{SECRET}@host",
        f"jdbc:postgresql://host/shop?user=clerk&password={SECRET}",
        f"jdbc:mysql://clerk:{SECRET}@host/shop",
        f"postgresql%3A%2F%2Fclerk%3A{SECRET}%40host%2Fshop",
        f"postgresql://host/shop?password%3D{SECRET}",
        f"host=h password={SECRET}",
        f"host=h password=a\\ {SECRET}",
        f" PASSWORD = '{SECRET} and more'",
        f"password='two words \\' {SECRET}",
        f'password="two words {SECRET}',
        f"sslkey=k sslpassword={SECRET}",
        f"PGPASSWORD={SECRET}",
        f"spark.hadoop.fs.s3a.secret.key={SECRET}",
        f"aws_secret_access_key={SECRET}",
        f"AZURE_STORAGE_ACCOUNT_KEY={SECRET}",
        f"s3a://AKIA0:{SECRET}@bucket/lake",
        f"scrub.yaml:3: unknown key 'postgresql://clerk:{SECRET}@host' in store 'shop'",
    ],
)
def test_a_secret_is_not_repeated(text: str) -> None:
    assert SECRET not in redacted(f"there is no directory {text}")
    assert SECRET not in redacted(text)
    assert looks_like_connection(text)


@pytest.mark.parametrize(
    "text",
    [
        "scrub.yaml:3: there is no index by_email of table 'orders'\n    did you mean by_name?",
        "put the password into ~/.pgpass or PGPASSWORD, and try the same url with psql",
        "set it: export DB_PASSWORD=...",
        "the url is postgresql://${USER}@host:5432/shop",
        "password=${DB_PASSWORD}",
        "s3a://bucket/lake/orders",
        "/data/2026-11-16T09:00:00/lake",
        'password authentication failed for user "clerk"',
        "orders: key {'email': 'a@b.example'} has 2 entries",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("text", ["./lake", "lake/2026=11", "C:\\lake", "postgres_export", "a=b"])
def test_a_directory_does_not_look_like_a_connection(text: str) -> None:
    assert not looks_like_connection(text)


def test_no_error_of_scrub_repeats_a_secret() -> None:
    error = ScrubError(f"there is no file x:{SECRET}@y", hint=f"password={SECRET} is wrong")
    assert SECRET not in error.with_hint
    assert SECRET not in str(CatalogError("c.yaml", (Mistake(1, f"key 'u:{SECRET}@h'"),)))


def test_the_secrets_are_those_that_libpq_hides() -> None:
    hidden = {o.keyword.decode() for o in pq.Conninfo.get_defaults() if o.dispchar == b"*"}
    assert hidden <= set(SECRETS)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"host=h user=u password='{SECRET}'", "user=u host=h"),
        (f"host=h sslpassword={SECRET} passfile=/p", "passfile=/p host=h"),
        (f"postgresql://u@h/d?%70assword={SECRET}", "user=u dbname=d host=h"),
        ("host=h user=u", "host=h user=u"),
    ],
)
def test_a_connection_string_without_its_password(given: str, kept: str) -> None:
    assert without_password(given) == kept


@pytest.mark.parametrize(
    ("conninfo", "said", "shown"),
    [
        ("password=hush-hush", "no host hush-hush!", "no host ***!"),
        ("sslpassword=hush-hush", "no key hush-hush", "no key ***"),
        ("password='hush/hush'", "no host hush%2Fhush", "no host ***"),
        # Stars in a word, or for the user's name, would tell what the password is.
        ("password=at", "that table was at a", "that table was at a"),
        ("password=able", "a table is able", "a table is ***"),
        ("user=postgres password=postgres", 'for user "postgres"', 'for user "postgres"'),
    ],
)
def test_passwords_are_blotted_out_of_what_a_server_says(
    conninfo: str, said: str, shown: str
) -> None:
    assert without_secrets(said, conninfo) == shown


def test_a_password_of_the_environment_is_blotted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert SECRET not in without_secrets(f"no host {SECRET}", conninfo_of("host=h", {}))
