"""What a case is written with: the list it enters, and short ways to get a report."""

import subprocess

from driving import Guest
from under_test import PYTHON

CASES = []
# For a Python that has the libraries which code calls out with.
LIBRARY_CASES = []


def case(function):
    """Registers a case: one function, whose name states a fact."""
    CASES.append(function)
    return function


def library_case(function):
    """Registers a case that needs `requests`, `httpx` and `aiohttp`."""
    LIBRARY_CASES.append(function)
    return function


def guest(text="", module="m", **more):
    """A guest whose module `m` has this text, already imported."""
    files = dict(more.pop("files", {}))
    files[module + ".py"] = text
    return Guest(PYTHON, files, module, **more)


def result_of(text, args=(), name="f", **more):
    """The report of calling `f` of a module with this text."""
    with guest(text) as one:
        return one.call("m:" + name, args, **more)


def new(name, *args):
    """Describes an argument: the instance that calling this class makes."""
    return ("n", name, list(args), [])


def loaded_anyway():
    """The modules that this Python loads by itself, `.pth` files included."""
    script = "import sys; print(*sys.modules)"
    return set(subprocess.check_output([PYTHON, "-I", "-B", "-c", script]).decode().split())


def equal(found, expected, what=""):
    assert found == expected, f"{what}: expected {expected!r}, found {found!r}"
