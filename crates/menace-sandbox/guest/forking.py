"""Lets the init know of forks that the limit on processes refused: without control groups, the kernel
tells nobody but who asked.
"""

import posix
import sys


def watch(refused):
    """From here on `os.fork` calls `refused` before it raises for want of room."""
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
    for module in (posix, sys.modules.get("os")):
        if module is not None:
            module.fork = fork
