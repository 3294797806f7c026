# SPDX-License-Identifier: Apache-2.0
"""Text keys are compared by their bytes, whatever collation their column has."""

from decimal import Decimal

from scrub.stores.postgres.changes import key_types
from scrub.stores.postgres.changes.key_bounds import ordering, where
from scrub.stores.postgres.changes.streamed_table import WantedColumn

SHOP = WantedColumn("shop", key_types.NUMERIC)
NAME = WantedColumn('the "name"', key_types.TEXT)
KEY = (SHOP, NAME)


def test_text_keys_that_the_database_orders_otherwise_are_read_in_the_order_of_bytes() -> None:
    """Otherwise rows between two bounds of Python are not those between the server's."""
    assert ordering(KEY) == '"shop", "the ""name""" COLLATE pg_catalog."C"'
    assert where(KEY, (">", (Decimal("1.5"), "it's"))) == (
        'ROW("shop", "the ""name""" COLLATE pg_catalog."C") > '
        "ROW((1.5)::pg_catalog.numeric,  E'it''s'::pg_catalog.text)"
    )


def test_a_bound_may_have_fewer_values_than_the_key_has_columns() -> None:
    assert where(KEY, (">=", (Decimal(1),)), ("<", None)) == (
        'ROW("shop") >= ROW((1)::pg_catalog.numeric)'
    )


def test_without_bounds_everything_is_meant() -> None:
    assert where(KEY, (">=", None), ("<", None)) == "true"
