# SPDX-License-Identifier: Apache-2.0
"""A figure counts only if the answer that came with it is right."""


class WrongAnswer(Exception):
    """Something measured gave another answer than the generated data has."""


def demand(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise WrongAnswer(f"{what}: the answer is {found}, but should be {wanted}")
