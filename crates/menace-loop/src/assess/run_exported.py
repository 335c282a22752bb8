"""Runs the tests of an exported file without pytest, and prints for each whether it fails.

The file comes on standard input. It is run in a plain interpreter in the sandbox of the repository,
so that nothing of the harness holds an object alive or slows it down.
"""

import contextlib
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any


class TestFailed(Exception):
    """Raised by `pytest.fail`."""


class MonkeyPatch:
    """The part of pytest's fixture that exported tests use."""

    def chdir(self, path: Path) -> None:
        os.chdir(path)

    def setenv(self, name: str, value: str) -> None:
        os.environ[name] = value

    def setattr(self, owner: object, name: str, value: object) -> None:
        setattr(owner, name, value)


def fail(reason: str = "") -> None:
    raise TestFailed(reason)


pytest: Any = types.ModuleType("pytest")
pytest.fail = fail
sys.modules["pytest"] = pytest


def describe(error: BaseException) -> str:
    text = type(error).__name__ + ": " + str(error)
    return text[:500]


def main() -> None:
    source = sys.stdin.read()
    repository = os.getcwd()
    names: dict[str, Any] = {
        "__name__": "exported",
        "__file__": os.path.join(repository, "exported.py"),
    }
    directory = Path(tempfile.mkdtemp())
    answer = {"result": "passed", "detail": ""}
    with contextlib.redirect_stdout(sys.stderr):
        try:
            exec(compile(source, "exported.py", "exec"), names)
            tests = [value for name, value in names.items() if name.startswith("test_")]
        except BaseException as error:
            tests = []
            answer = {"result": "unusable", "detail": describe(error)}
        for test in tests:
            try:
                test(directory, MonkeyPatch())
            except SystemExit as error:
                answer = {"result": "unusable", "detail": describe(error)}
            except BaseException as error:
                answer = {"result": "failed", "detail": describe(error)}
    sys.__stdout__.write("\n" + json.dumps(answer) + "\n")
    sys.__stdout__.flush()
    os._exit(0)


main()
