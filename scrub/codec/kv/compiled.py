# SPDX-License-Identifier: Apache-2.0
"""Compiling the codec: annotations are the signature, so that each function is compiled once.

Left to itself, numba compiles a function anew for every mixture of integer types it is called with,
which takes minutes for code that calls as much as this. And it counts references to every array
around every call, which takes longer than reading a number; only `allocating` functions may make
arrays, and only they count.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import types
from numpy.typing import NDArray

from scrub.codec.compiling import functions

Octets: TypeAlias = Annotated[NDArray[np.uint8], types.uint8[::1]]
Offsets: TypeAlias = Annotated[NDArray[np.int64], types.int64[::1]]
Numbers: TypeAlias = Annotated[NDArray[np.int64], types.int64[:, ::1]]
Cube: TypeAlias = Annotated[NDArray[np.int64], types.int64[:, :, ::1]]
Fault: TypeAlias = Annotated[Any, types.int64[::1]]
Word: TypeAlias = Annotated[Any, types.uint64]
"""An unsigned 64-bit number inside compiled code, where Python's int has no meaning."""

_PLAINLY = {"error_model": "numpy", "_nrt": False}
_COUNTING = {"error_model": "numpy"}
_PLAIN = {int: types.int64, bool: types.boolean, type(None): types.void}

also_loop = functions.also_loop

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function for the types it is annotated with."""
    made: Function = functions.linked(_signature_of(function), **_PLAINLY)(function)
    return made


def allocating(function: Function) -> Function:
    """The same for what makes arrays, which only the code for rare or large things should do."""
    made: Function = functions.linked(_signature_of(function), **_COUNTING)(function)
    return made


def inlined(function: Function) -> Function:
    """The same for what is too small to be worth a call."""
    made: Function = functions.inlined(_signature_of(function), **_PLAINLY)(function)
    return made


def loop(function: Function) -> Function:
    """The same for what Python calls, which may make arrays."""
    made: Function = functions.loop(_signature_of(function), **_COUNTING)(function)
    return made


def _signature_of(function: Callable[..., Any]) -> Any:
    hints = get_type_hints(function, include_extras=True)
    result = _numba_type(hints.pop("return"))
    return result(*(_numba_type(hint) for hint in hints.values()))


def _numba_type(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    if get_origin(hint) is tuple:
        return types.Tuple([_numba_type(part) for part in get_args(hint)])
    if hasattr(hint, "_fields"):
        parts = get_type_hints(hint, include_extras=True).values()
        return types.BaseTuple.from_types([_numba_type(part) for part in parts], hint)
    return _PLAIN[hint]
