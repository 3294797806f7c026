# SPDX-License-Identifier: Apache-2.0
"""Keeps a process from importing libraries that it does not use, which takes a third of a second.

pyarrow looks for pandas when it makes its first array, and numba for SciPy when it loads its first
loop, in case somebody passes them what is of these. Only PySpark and Great Expectations do.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_UNUSED = ("pandas", "scipy")
_USERS = ("pyspark", "great_expectations")


class _Absent(MetaPathFinder):
    """Says that they are not installed, until somebody comes who uses them."""

    def __init__(self, users: Sequence[str]) -> None:
        self.users = users

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname in self.users and self in sys.meta_path:
            sys.meta_path.remove(self)
        if fullname in _UNUSED and self in sys.meta_path:
            raise ModuleNotFoundError(f"{fullname} is not used here", name=fullname)
        return None


def leave_out(users: Sequence[str] = _USERS) -> None:
    """For a process of our own: whoever imports scrub may use these libraries with pyarrow."""
    if not any(name in sys.modules for name in users):
        sys.meta_path.insert(0, _Absent(users))
