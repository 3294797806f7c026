# SPDX-License-Identifier: Apache-2.0
"""The three kinds of compiled functions. Each has one signature, and is compiled once.

A loop is called from Python. Only loops have a way in from there, which takes as long to compile as
a small function. A linked function is called from compiled code. An inlined one becomes a part of
its callers.

Nothing is compiled, or loaded, before it is called, or compiled code that calls it is. A linked or
inlined function that is called from Python all the same is compiled once more, with a way in.
"""

import importlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from scrub.codec.compiling.flags import QuickFlags
from scrub.codec.compiling.kept import cache_for
from scrub.codec.compiling.linking import LinkedByName
from scrub.codec.compiling.unhindered import without_collecting

Function = TypeVar("Function", bound=Callable[..., Any])

# All that could differ between kinds is said: what is not, numba takes from the function that is
# being compiled when another one turns out to be needed.
_ALWAYS = {
    "nopython": True,
    "boundscheck": None,
    "nogil": True,
    "error_model": "python",
    "_nrt": True,
    "forceinline": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": False,
}
_LOOPS: list["_Loop"] = []


def loop(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """For what Python calls."""
    return _making(_Loop, signature, options)


def linked(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """For what compiled code calls."""
    return _making(_Linked, signature, options)


def inlined(signature: Any, **options: Any) -> Callable[[Any], Any]:
    """For what becomes a part of compiled code."""
    return _making(_Inlined, signature, options)


def also_loop(function: Function) -> Function:
    """For what Python calls as well, for a single datum or pair now and then."""
    made: Any = function
    _LOOPS.append(made.from_python)
    return function


def compile_loops() -> None:
    """Compile all loops of the modules that are loaded, with what they call."""
    for each in _LOOPS:
        each.settle()


def _making(
    kind: type["_Compiled"], signature: Any, options: dict[str, Any]
) -> Callable[[Any], Any]:
    def make(function: Any) -> Any:
        made = kind(function, signature, options)
        if isinstance(made, _Loop):
            _LOOPS.append(made)
        return made

    return make


class _Loading(NamedTuple):
    """What is done before code is loaded that calls this function."""

    module: str
    name: str

    def __call__(self) -> None:
        _by_name(self.module, self.name).settle()


def _by_name(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class _Compiled(CPUDispatcher):  # type: ignore[misc]
    kept_as: ClassVar[str | None]
    how: ClassVar[dict[str, bool]]

    def __init__(self, function: Any, signature: Any, options: dict[str, Any]) -> None:
        of_all = _ALWAYS | options | self.how
        super().__init__(function, targetoptions=of_all, pipeline_class=LinkedByName)
        self._compiler._customize_flags = QuickFlags
        self._declared, self._options = signature, options

    def settle(self) -> None:
        """Load or compile it, unless that was done before."""
        with global_compiler_lock, without_collecting():
            if self._can_compile:
                if self.kept_as is not None:
                    self._cache = cache_for(self.py_func, self.kept_as)
                self.compile(self._declared)
                self.disable_compile()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What numba asks for when it compiles a call of it."""
        self.settle()
        return super().get_call_template(args, kws)

    def __reduce__(self) -> Any:
        return _by_name, (self.__module__, self.__qualname__)


class _Loop(_Compiled):
    kept_as = "loop"
    how: ClassVar = {}

    def __call__(self, *arguments: Any) -> Any:
        if self._can_compile:
            self.settle()
        return super().__call__(*arguments)


class _Called(_Compiled):
    @cached_property
    def from_python(self) -> _Loop:
        return _Loop(self.py_func, self._declared, self._options)

    def __call__(self, *arguments: Any) -> Any:
        return self.from_python(*arguments)


class _Linked(_Called):
    kept_as = "linked"
    how: ClassVar = {"no_cpython_wrapper": True}

    def settle(self) -> None:
        with global_compiler_lock:
            super().settle()
            for compiled in self.overloads.values():
                # numba hands it down to what is compiled with this, and keeps it there.
                compiled.library._reload_init.add(_Loading(self.__module__, self.__qualname__))


class _Inlined(_Called):
    kept_as = None
    how: ClassVar = {"no_cpython_wrapper": True, "forceinline": True}
