# SPDX-License-Identifier: Apache-2.0
"""Compiling the codec: annotations are the signature, so that each function is compiled once.

Left to itself, numba compiles a function anew for every mixture of integer types it is called with,
which takes minutes for code that calls as much as this. And it counts references to every array
around every call, which takes longer than reading a number; only `allocating` functions may make
arrays, and only they count.

Compiled code is kept on disk for each file, with what it calls from other files inside. So when any
file of the codec is another one than last time, everything that was kept is thrown away.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

Octets: TypeAlias = Annotated[NDArray[np.uint8], types.uint8[::1]]
Offsets: TypeAlias = Annotated[NDArray[np.int64], types.int64[::1]]
Numbers: TypeAlias = Annotated[NDArray[np.int64], types.int64[:, ::1]]
Cube: TypeAlias = Annotated[NDArray[np.int64], types.int64[:, :, ::1]]
Fault: TypeAlias = Annotated[Any, types.int64[::1]]
Word: TypeAlias = Annotated[Any, types.uint64]
"""An unsigned 64-bit number inside compiled code, where Python's int has no meaning."""

_PLAIN = {int: types.int64, bool: types.boolean, type(None): types.void}

Function = TypeVar("Function", bound=Callable[..., Any])


def _forget_other_code() -> None:
    here = Path(__file__).parent
    sources = sorted(here.glob("*.py"))
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    mark = here / "__pycache__" / "compiled-from"
    with suppress(OSError):  # where nothing can be written, nothing was kept
        if mark.exists() and mark.read_text() == state:
            return
        for kept in mark.parent.glob("*.nb[ic]"):
            kept.unlink(missing_ok=True)
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(state)


_forget_other_code()


def compiled(function: Function) -> Function:
    """Compile a function for the types it is annotated with; the result is kept on disk."""
    return _compile(function)


def allocating(function: Function) -> Function:
    """The same for what makes arrays, which only the code for rare or large things should do."""
    return _compile(function, _nrt=True)


def inlined(function: Function) -> Function:
    """The same for what is too small to be worth a call."""
    return _compile(function, forceinline=True)


def _compile(function: Function, **options: bool) -> Function:
    hints = get_type_hints(function, include_extras=True)
    result = _numba_type(hints.pop("return"))
    signature = result(*(_numba_type(hint) for hint in hints.values()))
    options = {"_nrt": False} | options
    make = njit(signature, cache=True, nogil=True, error_model="numpy", **options)
    done: Function = make(function)
    return done


def _numba_type(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    if get_origin(hint) is tuple:
        return types.Tuple([_numba_type(part) for part in get_args(hint)])
    if hasattr(hint, "_fields"):
        parts = get_type_hints(hint, include_extras=True).values()
        return types.BaseTuple.from_types([_numba_type(part) for part in parts], hint)
    return _PLAIN[hint]
