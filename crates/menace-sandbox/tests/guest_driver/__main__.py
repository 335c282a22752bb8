"""Plays the init for the guest harness and checks what comes back. Standard library only.

    python guest_driver PYTHON_UNDER_TEST [part of a case's name]
    python guest_driver PYTHON_UNDER_TEST --libraries
    python guest_driver PYTHON_UNDER_TEST --slowdown

Prints a line for each failed case and `N passed, N failed` at the end; the exit code follows.
Each case is one function whose name states a fact; every file in this directory may have some.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Callable

import slowdown
from cases import CASES, LIBRARY_CASES
from starting import as_init

HERE = os.path.dirname(os.path.abspath(__file__))


def failure(function: Callable[[], None], error: Exception) -> str:
    """One line that says where a case failed, and why."""
    place = [
        f"{os.path.basename(entry.filename)}:{entry.lineno}"
        for entry in traceback.extract_tb(error.__traceback__)
        if os.path.dirname(os.path.abspath(entry.filename)) == HERE
    ]
    # The first is this file.
    why = f"{type(error).__name__}: {error}"
    return f"{function.__name__}, {' '.join(place[1:])}: {why}"


def main() -> None:
    """Runs all cases and counts."""
    if "--as-init" in sys.argv:
        as_init()
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".py"):
            import_module(name[:-3])
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    if wanted == "--slowdown":
        slowdown.measure()
        return
    cases = CASES
    if wanted == "--libraries":
        cases, wanted = LIBRARY_CASES, ""
    passed = failed = 0
    for function in cases:
        if wanted not in function.__name__:
            continue
        try:
            function()
            passed += 1
        except Exception as error:
            failed += 1
            print(failure(function, error))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
