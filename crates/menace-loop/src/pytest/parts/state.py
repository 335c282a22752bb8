import os

import pytest


def state(function):
    """What the next caller relies on."""
    function = function.__init__ if isinstance(function, type) else function
    function = inspect.unwrap(getattr(function, "__func__", function))
    return {
        "the defaults": repr(
            (getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None))
        ),
        "the working directory": os.getcwd(),
        "the recursion limit": sys.getrecursionlimit(),
        "the environment": dict(os.environ),
    }


def leaves_as_it_was(function, call):
    """Fails when something that others rely on is not what it was before the call."""
    before = state(function)
    with contextlib.suppress(Exception):
        use(call())
    after = state(function)
    os.chdir(before["the working directory"])
    sys.setrecursionlimit(before["the recursion limit"])
    os.environ.clear()
    os.environ.update(before["the environment"])
    for what in before:
        if before[what] != after[what]:
            pytest.fail(what + " changed")
