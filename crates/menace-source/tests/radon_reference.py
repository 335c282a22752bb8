"""Prints radon's numbers for modules of the standard library, as one JSON document.

Arguments are packages, modules or directories; without any, the ten packages of the
acceptance test. Files that radon cannot analyse carry an `error` instead of numbers.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import multiprocessing
import os
import sys
import tokenize
from typing import Iterable, Iterator

from radon.metrics import h_visit_ast, mi_visit
from radon.raw import analyze
from radon.visitors import Class, ComplexityVisitor, Function

PACKAGES = [
    "asyncio",
    "concurrent",
    "email",
    "http",
    "importlib",
    "json",
    "logging",
    "multiprocessing",
    "unittest",
    "xml",
]

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def files(name: str) -> list[str]:
    """The Python files of a package, a module or a directory."""
    if os.path.isdir(name):
        roots = [name]
    else:
        spec = importlib.util.find_spec(name)
        roots = spec.submodule_search_locations
        if not roots:
            return [spec.origin]
    return [
        os.path.join(directory, file)
        for root in roots
        for directory, _, names in os.walk(root)
        for file in names
        if file.endswith(".py")
    ]


def listed_blocks(
    functions: Iterable[Function], classes: Iterable[Class]
) -> Iterator[Function | Class]:
    """The blocks that radon lists, however deep they lie."""
    for function in functions:
        yield function
        yield from listed_blocks(function.closures, [])
    for class_ in classes:
        yield class_
        yield from listed_blocks(class_.methods, class_.inner_classes)


def blocks(tree: ast.Module) -> list[dict[str, object]]:
    """radon's number for every definition in the tree, by its position."""
    visitor = ComplexityVisitor.from_ast(tree)
    found = {
        (block.lineno, block.col_offset): block
        for block in listed_blocks(visitor.functions, visitor.classes)
    }
    for node in ast.walk(tree):
        # radon drops what classes inside functions contain: ask it for those one by one.
        if isinstance(node, DEFINITIONS) and (node.lineno, node.col_offset) not in found:
            alone = ComplexityVisitor(off=False)
            alone.visit(node)
            found[node.lineno, node.col_offset] = (alone.functions + alone.classes)[0]
    return [
        {
            "line": line,
            "column": column,
            "name": block.name,
            "complexity": block.complexity,
            "real_complexity": getattr(block, "real_complexity", block.complexity),
        }
        for (line, column), block in sorted(found.items())
    ]


def numbers(path: str) -> dict[str, object]:
    """Everything radon says about one file."""
    result: dict[str, object] = {"path": path}
    try:
        with tokenize.open(path) as file:
            encoding = file.encoding
            source = file.read()
        if encoding not in ("utf-8", "utf-8-sig"):
            result["text"] = source
        tree = ast.parse(source)
        total = h_visit_ast(tree).total
        result["numbers"] = {
            "blocks": blocks(tree),
            "complexity": ComplexityVisitor.from_ast(tree).total_complexity,
            "maintainability": mi_visit(source, True),
            "lines": analyze(source)._asdict(),
            "halstead": [total.h1, total.h2, total.N1, total.N2],
            "statements": sum(isinstance(node, ast.stmt) for node in ast.walk(tree)),
        }
    except (SyntaxError, UnicodeError, ValueError, RecursionError) as error:
        result["error"] = f"{type(error).__name__}: {error}"
    return result


def main(names: Iterable[str]) -> None:
    paths = sorted({path for name in names for path in files(name)})
    with multiprocessing.Pool() as pool:
        modules = pool.map(numbers, paths, chunksize=1)
    # From 3.12 the tokenizer, and with it radon, takes f-strings apart.
    document = {"splits_f_strings": sys.version_info >= (3, 12), "modules": modules}
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:] or PACKAGES)
