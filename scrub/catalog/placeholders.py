# SPDX-License-Identifier: Apache-2.0
"""What `scrub init` could not find out, and a person must write before the catalog can be used."""

FILL_IN = "?"
"""Written instead of an expression or a condition; a catalog that still has one is refused."""

EXPRESSION_HINT = (
    'write e.g. {{expr: "lower(email)", as: {name}}}, or take the column out: then it is not '
    "compared"
)
CONDITION_HINT = (
    "write the condition that its rows fulfil, or leave `where` out if it covers all rows"
)
