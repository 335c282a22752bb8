"""Runs an action right after a chosen module has been executed, before any code uses it.

A finder at the head of `sys.meta_path`, which returns `None` at once for all other names.
Invariant: modules are found where they would have been found without it.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_modules = sys.modules
_find_spec = _modules["_frozen_importlib"]._find_spec


class ImportHooks:
    """The finder, with the actions by module name."""

    def __init__(self) -> None:
        self.wanted: dict = {}
        sys.meta_path.insert(0, self)

    def add(self, name: str, action: Callable) -> None:
        """Calls `action(module)` after each execution of the module, and now if it is loaded."""
        self.wanted[name] = action
        if name in _modules:
            action(_modules[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Part of the finder protocol."""
        action = self.wanted.pop(name, None)
        if action is None:
            return None
        try:
            # While the action is removed, this method returns `None`, and the other finders are
            # used.
            spec = _find_spec(name, path, target)
        finally:
            self.wanted[name] = action
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _extend(spec.loader, action)
        return spec


def _extend(loader: Any, action: Callable) -> None:
    execute = loader.exec_module

    def execute_and_act(module: ModuleType) -> None:
        try:
            del loader.exec_module
        except AttributeError:
            pass
        execute(module)
        action(module)

    try:
        loader.exec_module = execute_and_act
    except AttributeError:
        # A loader without instance attributes cannot be changed.
        pass
