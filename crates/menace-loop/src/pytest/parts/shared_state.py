import os

import pytest


def caller_visible_state(function):
    """State that later callers rely on."""
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


def leaves_state_unchanged(function, call):
    """Fails when the call changes state that later callers rely on."""
    before = caller_visible_state(function)
    with contextlib.suppress(Exception):
        consume(call())
    after = caller_visible_state(function)
    os.chdir(before["the working directory"])
    sys.setrecursionlimit(before["the recursion limit"])
    os.environ.clear()
    os.environ.update(before["the environment"])
    for what in before:
        if before[what] != after[what]:
            pytest.fail(what + " changed")
