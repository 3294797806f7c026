# SPDX-License-Identifier: Apache-2.0
"""Functions and operators of strangers are never called, whatever path a database has."""

import pytest

from scrub.app.streaming.verbs import drop_stream, run_stream, stream_status, verify_stream
from scrub.errors import UsageError
from scrub.model.stream.requests import Phase
from tests.scrub.app.streaming.shop import Shop

pytestmark = pytest.mark.slow
_CALLED = "BEGIN RAISE EXCEPTION 'a look-alike was called'; END"
_LOOK_ALIKES = (
    "hashtextextended(text, bigint) RETURNS bigint",
    "hashtextextended(text, integer) RETURNS bigint",
    "pg_advisory_xact_lock(bigint) RETURNS void",
    "pg_try_advisory_lock(bigint) RETURNS boolean",
    "to_regclass(text) RETURNS regclass",
    "clock_timestamp() RETURNS timestamptz",
    "pg_current_snapshot() RETURNS pg_snapshot",
    "pg_export_snapshot() RETURNS text",
    "pg_drop_replication_slot(name) RETURNS void",
    "array_agg_of(text) RETURNS text[]",
    "length(text) RETURNS integer",
)


def make_look_alikes(shop: Shop) -> None:
    shop.database.run(
        "CREATE SCHEMA evil",
        *(f"CREATE FUNCTION evil.{of} LANGUAGE plpgsql AS $$ {_CALLED} $$" for of in _LOOK_ALIKES),
        "CREATE FUNCTION evil.alike(text, text) RETURNS boolean LANGUAGE plpgsql "
        f"AS $$ {_CALLED} $$",
        "CREATE FUNCTION evil.alike_numbers(bigint, bigint) RETURNS boolean LANGUAGE plpgsql "
        f"AS $$ {_CALLED} $$",
        "CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.alike)",
        "CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, "
        "FUNCTION = evil.alike_numbers)",
        f'ALTER DATABASE "{shop.database.name}" SET search_path = evil, public, pg_catalog',
    )


def test_no_look_alike_is_called(shop: Shop) -> None:
    make_look_alikes(shop)
    request = shop.request(until_caught_up=True)
    assert run_stream(request).exit_code == 0
    shop.database.run(
        "SET search_path = pg_catalog; UPDATE public.orders SET status = 'open' WHERE id < 5; "
        "DELETE FROM public.orders WHERE id = 7; UPDATE public.orders SET id = -8 WHERE id = 8"
    )
    assert run_stream(request).exit_code == 0
    assert verify_stream(request).verdict.exit_code == 0
    assert stream_status(request).phase is Phase.PUBLIC
    drop_stream(request)


def test_records_of_a_stranger_are_neither_read_nor_written(shop: Shop) -> None:
    """His view would run what is in it with our rights."""
    role = f"stranger_{shop.database.name}"
    shop.database.run(
        f"CREATE ROLE {role}",
        f"GRANT CREATE ON SCHEMA public TO {role}",
        f"SET ROLE {role}; CREATE VIEW public.scrub_streams AS SELECT 1 / 0 AS id",
    )
    try:
        with pytest.raises(UsageError, match=f"scrub_streams belongs to the role {role}"):
            run_stream(shop.request(until_caught_up=True))
    finally:
        shop.database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
