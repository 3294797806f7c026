# SPDX-License-Identifier: Apache-2.0
"""The answer that an expression is not on the list of those that run without Spark."""


class Untranslatable(Exception):
    """The expression is not on the list."""


def demand(holds: object) -> None:
    """Raise Untranslatable unless it holds."""
    if not holds:
        raise Untranslatable
