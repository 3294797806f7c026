# SPDX-License-Identifier: Apache-2.0
"""Why a text cannot be an expression of a catalog."""


class BadExpression(ValueError):
    """Why a text cannot be the expression of an index, and what to write instead."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.hint = hint


class UnreadableExpression(BadExpression):
    """Why a text is no expression at all; the hint is one for catalogs."""
