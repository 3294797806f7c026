# SPDX-License-Identifier: Apache-2.0
"""Compiles each function once, where numba compiles it again within every function that calls it.

numba makes machine code of a function together with all that it calls, directly or not. In code
with many layers this takes minutes. Here a function that is called stays where it is: it has one
name in all processes, by which its callers are linked with it when they are loaded. And a function
that becomes part of its callers is handed to them as it was written down, without machine code that
nobody would run.

What is kept of a caller says which functions must be loaded before it.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.codegen import ll as llvm
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, LoweringPass, PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    TranslateByteCode,
)

from scrub.codec.compiling.kept import stamp_of
from scrub.codec.compiling.notice import compiling


class _NoMachineCode:
    """Stands for the generator of code that does not come to be run itself."""

    def set_env(self, name: str, env: Any) -> None:
        """There is nowhere to set it; compiled code that raises nothing does without."""


class _Written(JITCodeLibrary):  # type: ignore[misc]
    """A function as its callers need it to make it a part of themselves."""

    codegen = _NoMachineCode()

    def _optimize_final_module(self) -> None:
        """Its callers are optimised, and what they are made of with them."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _Name(FunctionPass):  # type: ignore[misc]
    """Before a function is written down: its name, the same in all processes with these sources."""

    _name = "scrub_name"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        compiling()
        way_in = "" if state.flags.no_cpython_wrapper else "p"
        stamp = stamp_of(state.func_id.func)[:16]
        state.func_ir.func_id.unique_id = f"{state.func_id.firstlineno}{way_in}{stamp}"
        if state.flags.forceinline and state.flags.no_cpython_wrapper:
            codegen = state.targetctx.codegen()
            state.library = _Written(codegen, state.func_id.func_qualname)
            state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Declare(LoweringPass):  # type: ignore[misc]
    """After machine code was made: callers get the name of a function, and not what is in it."""

    _name = "scrub_declare"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if isinstance(state.library, _Written):
            return False
        text = ""
        if not state.flags.no_cpython_wrapper:
            # numba asks what is kept with a library if Python can call it.
            name = state["cr"].fndesc.llvm_cpython_wrapper_name
            text = f'define linkonce_odr void @"{name}"() {{ unreachable }}'
        state.library._shared_module = llvm.parse_assembly(text)
        return False


class LinkedByName(CompilerBase):  # type: ignore[misc]
    """numba's compiler with these two steps more, and without those that our loops do not need.

    What is left out looks for closures, for `with` blocks, for loops over tuples of mixed types,
    for literal arguments and for functions that are inlined before types are known.
    """

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("scrub")
        for each in _STEPS:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


_STEPS = (
    TranslateByteCode,
    _Name,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    DeadBranchPrune,
    GenericRewrites,
    RewriteDynamicRaises,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    _Declare,
    NoPythonBackend,
)
