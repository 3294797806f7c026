# SPDX-License-Identifier: Apache-2.0
"""Loads what examples/ holds, which is no package."""

import importlib.util
from pathlib import Path
from types import ModuleType

_EXAMPLES = Path(__file__).parent.parent / "examples"


def tiny_lake() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny_lake", _EXAMPLES / "tiny_lake.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
