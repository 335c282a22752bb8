"""Reports forks that the limit on processes refused.

Without control groups only the process that called `fork` learns of it.
"""

from __future__ import annotations

import posix
import sys

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable


def patch_fork(refused: Callable) -> None:
    """Makes `os.fork` call `refused` before it raises because of the limit."""
    real = posix.fork

    def fork():
        try:
            return real()
        except BlockingIOError:
            refused()
            raise

    fork.__doc__ = real.__doc__
    fork.__module__ = real.__module__
    fork.__qualname__ = "fork"
    modules: tuple = (posix, sys.modules.get("os"))
    for module in modules:
        if module is not None:
            module.fork = fork
