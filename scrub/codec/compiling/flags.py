# SPDX-License-Identifier: Apache-2.0
"""numba's options of a function, compared in no time.

numba looks up what each operator means by the types on both sides and by all options, and asks for
each of these as if it were another one than a moment ago: a fifth of all compiling.
"""

from typing import Any

from numba.core.compiler import Flags


class QuickFlags(Flags):  # type: ignore[misc]
    """Options that are looked at again only where one of them was set."""

    _hash = hash(Flags())

    def __init__(self, copy_from: Any = None) -> None:
        super().__init__(copy_from)
        self._given: Any = None
        self._all: dict[str, Any] = {}

    def values(self) -> dict[str, Any]:
        given = tuple(self._values.items())
        if given != self._given:
            self._given, self._all = given, super().values()
        return self._all

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other) is True

    def __hash__(self) -> int:
        return self._hash
