# SPDX-License-Identifier: Apache-2.0
"""Modules that take long to import, imported when something of them is first used."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module; anything of it is looked up in the module itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
