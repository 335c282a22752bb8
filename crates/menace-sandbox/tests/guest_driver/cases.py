"""What a case is written with: the list it enters, and short ways to get a report."""

from __future__ import annotations

import subprocess
from typing import Any, Callable, Sequence

from driving import Guest, Report
from under_test import PYTHON

Case = Callable[[], None]
CASES: list[Case] = []
# For a Python that has the libraries which code calls out with.
LIBRARY_CASES: list[Case] = []


def case(function: Case) -> Case:
    """Registers a case: one function, whose name states a fact."""
    CASES.append(function)
    return function


def library_case(function: Case) -> Case:
    """Registers a case that needs `requests`, `httpx` and `aiohttp`."""
    LIBRARY_CASES.append(function)
    return function


def guest(text: str = "", module: str = "m", **more: Any) -> Guest:
    """A guest whose module `m` has this text, already imported."""
    files = dict(more.pop("files", {}))
    files[module + ".py"] = text
    return Guest(PYTHON, files, module, **more)


def result_of(text: str, args: Sequence[object] = (), name: str = "f", **more: Any) -> Report:
    """The report of calling `f` of a module with this text."""
    with guest(text) as one:
        return one.call("m:" + name, args, **more)


def new(name: str, *args: object) -> tuple[str, str, list[object], list[object]]:
    """Describes an argument: the instance that calling this class makes."""
    return ("n", name, list(args), [])


def loaded_anyway() -> set[str]:
    """The modules that this Python loads by itself, `.pth` files included."""
    script = "import sys; print(*sys.modules)"
    return set(subprocess.check_output([PYTHON, "-I", "-B", "-c", script]).decode().split())


def equal(found: object, expected: object, what: object = "") -> None:
    assert found == expected, f"{what}: expected {expected!r}, found {found!r}"
