"""Notes the functions of an import that run in each fork, and so before each call.

Those of the standard library are left out: nearly every module registers some of them.
"""

from __future__ import annotations

import os
import posix

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

LIBRARY = os.__file__.rpartition("/")[0] + "/"
Function = type(lambda: None)
Builtin = type(len)


def watch_hooks(found: list) -> None:
    """From here on `found` gets the names of what runs in each fork, the library's own apart."""
    modules: tuple = (posix, os)
    real = modules[0].register_at_fork

    def register_at_fork(**hooks: Callable) -> None:
        real(**hooks)
        found.extend(_name_of(hook) for hook in hooks.values() if not _is_of_library(hook))

    register_at_fork.__doc__ = real.__doc__
    register_at_fork.__module__ = real.__module__
    register_at_fork.__qualname__ = "register_at_fork"
    for module in modules:
        module.register_at_fork = register_at_fork


def _is_of_library(hook: Any) -> bool:
    """Whether it is a function of the standard library, or of C."""
    function = getattr(hook, "__func__", hook)
    if type(function) is Builtin:
        return True
    return type(function) is Function and function.__code__.co_filename.startswith(LIBRARY)


def _name_of(hook: Any) -> str:
    """The full name of a function; of anything else, that of its type."""
    function = getattr(hook, "__func__", hook)
    if type(function) is not Function:
        function = type(hook)
    return str(function.__module__) + "." + str(function.__qualname__)
