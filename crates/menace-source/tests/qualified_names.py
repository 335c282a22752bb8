"""Prints `path::qualname first-line is-generator` for every function of some real packages.

The names come from the code objects that CPython compiles, so they are what `__qualname__` is.
"""

import inspect
import os
import sysconfig
from types import CodeType
from typing import Iterator, Tuple

PACKAGES = (
    "asyncio",
    "email",
    "json",
    "logging",
    "unittest",
    "xml",
    "http",
    "importlib",
    "concurrent",
    "multiprocessing",
)
ANONYMOUS = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def functions(code: CodeType, prefix: str) -> Iterator[Tuple[str, CodeType]]:
    for inner in code.co_consts:
        if not inspect.iscode(inner):
            continue
        # A class body stores its own name first; a function's body does not.
        is_class = "__qualname__" in inner.co_names and not inner.co_flags & inspect.CO_OPTIMIZED
        qualname = prefix + inner.co_name
        if inner.co_name.startswith("<"):
            continue
        if not is_class:
            yield qualname, inner
        yield from functions(inner, qualname + ("." if is_class else ".<locals>."))


def main() -> None:
    library = sysconfig.get_path("stdlib")
    for package in PACKAGES:
        for directory, directories, files in os.walk(os.path.join(library, package)):
            directories[:] = [name for name in directories if name != "__pycache__"]
            for name in sorted(files):
                if not name.endswith(".py"):
                    continue
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
                relative = os.path.relpath(path, library).replace(os.sep, "/")
                for qualname, function in functions(code, ""):
                    generator = "true" if function.co_flags & GENERATOR else "false"
                    print(f"{relative}::{qualname} {function.co_firstlineno} {generator}")


main()
