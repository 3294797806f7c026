# SPDX-License-Identifier: Apache-2.0
"""Where compiled code is kept between processes, and until when it may be used.

numba keeps it beside the module, or in the user's cache directory where nobody may write there, and
forgets it when the file of the function is another one. But compiled code has parts of other files
inside, and calls functions of others by name: here it is forgotten when any file of its folder is
another one than last time. Where nothing can be kept, each process compiles what it uses.
"""

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import Cache, CompileResultCacheImpl, IndexDataCacheFile, NullCache


@cache
def stamp_of_folder(folder: Path) -> str:
    """What changes with any source in a folder, or in this one, which decides how all is built."""
    here = Path(__file__).parent
    sources = [path for of in (here, folder) for path in sorted(of.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def stamp_of(function: FunctionType) -> str:
    """What changes with any source that a function's compiled code may depend on."""
    return stamp_of_folder(Path(function.__code__.co_filename).parent)


def cache_for(function: FunctionType, variant: str) -> Any:
    """The place for a function's compiled code, for each way in which it is compiled."""
    try:
        return _KeptCode(function, variant)
    except (RuntimeError, OSError):  # there is no directory that can be written to
        return NullCache()


class _KeptCode(Cache):  # type: ignore[misc]
    _impl_class = CompileResultCacheImpl

    def __init__(self, function: FunctionType, variant: str) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{variant}",
            source_stamp=stamp_of(function),
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # a disk that is full costs time, not the result
            super().save_overload(sig, data)
