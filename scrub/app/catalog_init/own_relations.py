# SPDX-License-Identifier: Apache-2.0
"""Relations that scrub itself keeps beside tables: no catalog describes them."""

import re
from collections.abc import Collection

_BOOKKEEPING = frozenset(("scrub_journal", "scrub_runs", "scrub_builds", "scrub_build_ranges"))
_OF_A_BUILD = re.compile(r"(.+)__(recorded|suspects)", re.DOTALL)
_CUT_SHORT = re.compile(r".*_[0-9a-f]{10}", re.DOTALL)  # a long name, and the hash of the rest


def is_own(name: str, names: Collection[str]) -> bool:
    """Whether a relation among others is a journal, a list of builds or a part of a build."""
    if name in _BOOKKEEPING:
        return True
    part = _OF_A_BUILD.fullmatch(name)
    return part is not None and (part[1] in names or bool(_CUT_SHORT.fullmatch(part[1])))
