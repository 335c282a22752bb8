"""Builds values twice, from the JSON notation and by running printed source, and compares.

Standard input: a JSON list of [notation, source], where the last line of a source is the
expression. Standard output: a JSON list with a message for each pair that differs.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import json
import sys
from types import SimpleNamespace
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Sequence, TypeVar

Container = TypeVar("Container", list, set, dict)
# A tree of JSON.
Tree = Any
Built = Callable[..., Any]


class Builder:
    """The meaning of the notation, written down a second time."""

    def __init__(self) -> None:
        self.labelled: dict[int, Any] = {}

    def build(self, tree: Tree) -> Any:
        if isinstance(tree, list):
            return self.fill([], tree)
        if not isinstance(tree, dict):
            return tree
        tag = next((key for key in tree if key.startswith("$")), None)
        if tag is None:
            return self.fill({}, tree)
        beside = {key: value for key, value in tree.items() if key != tag}
        return getattr(self, "build_" + tag[1:])(tree[tag], **beside)

    def fill(self, container: Container, tree: Tree) -> Container:
        """Fills an empty container, one item at a time."""
        if isinstance(container, list):
            for item in tree:
                container.append(self.build(item))
        elif isinstance(container, set):
            for item in tree["$set"]:
                container.add(self.build(item))
        elif "$dict" in tree:
            for key, value in tree["$dict"]:
                key = self.build(key)
                container[key] = self.build(value)
        else:
            for key, value in tree.items():
                container[key] = self.build(value)
        return container

    def find(self, name: str) -> Any:
        module, path = name.split(":")
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def call(self, function: Built, args: Sequence[Tree], kwargs: dict[str, Tree] | None) -> Any:
        built = [self.build(arg) for arg in args]
        named = {name: self.build(value) for name, value in (kwargs or {}).items()}
        return function(*built, **named)

    def build_int(self, body: str) -> int:
        return int(body, 0)

    def build_float(self, body: str) -> float:
        return float(body)

    def build_complex(self, body: Sequence[str]) -> complex:
        return complex(*map(float, body))

    def build_str(self, body: Sequence[int]) -> str:
        return "".join(map(chr, body))

    def build_bytes(self, body: str) -> bytes:
        return base64.b64decode(body, validate=True)

    def build_bytearray(self, body: str) -> bytearray:
        return bytearray(base64.b64decode(body, validate=True))

    def build_tuple(self, body: Sequence[Tree]) -> tuple[Any, ...]:
        return tuple(self.build(item) for item in body)

    def build_set(self, body: Sequence[Tree]) -> set[Any]:
        return {self.build(item) for item in body}

    def build_frozenset(self, body: Sequence[Tree]) -> frozenset[Any]:
        return frozenset(self.build(item) for item in body)

    def build_dict(self, body: Sequence[Tree]) -> dict[Any, Any]:
        return self.fill({}, {"$dict": body})

    def build_ellipsis(self, body: bool) -> object:
        return {True: ...}[body]

    def build_name(self, body: str) -> Any:
        return self.find(body)

    def build_call(
        self, body: str, args: Sequence[Tree] = (), kwargs: dict[str, Tree] | None = None
    ) -> Any:
        return self.call(self.find(body), args, kwargs)

    def build_method(
        self, body: str, on: Tree, args: Sequence[Tree] = (), kwargs: dict[str, Tree] | None = None
    ) -> Any:
        return self.call(getattr(self.build(on), body), args, kwargs)

    def build_repeat(self, body: Tree, times: int) -> Any:
        return self.build(body) * times

    def build_shared(self, body: Tree, label: int) -> Any:
        if isinstance(body, list):
            empty: Any = []
        elif isinstance(body, dict) and "$set" in body:
            empty = set()
        elif isinstance(body, dict) and ("$dict" in body or "$" not in {key[:1] for key in body}):
            empty = {}
        else:
            value = self.labelled[label] = self.build(body)
            return value
        self.labelled[label] = empty
        return self.fill(empty, body)

    def build_again(self, body: int) -> Any:
        return self.labelled[body]

    def build_returns(self, body: Tree) -> Built:
        value = self.build(body)
        return lambda *args, **kwargs: value

    def build_raises(self, body: Tree) -> Built:
        error = self.build(body)

        def raising(*args: object, **kwargs: object) -> None:
            raise error

        return raising

    def build_yields(self, body: Sequence[Tree]) -> Built:
        items = [self.build(item) for item in body]

        def generator(*args: object, **kwargs: object) -> Iterator[Any]:
            yield from items

        return generator

    def build_argument(self, body: int) -> Built:
        return lambda *args, **kwargs: args[body]

    def build_async(self, body: Tree) -> Built:
        if isinstance(body, dict) and "$yields" in body:
            items = [self.build(item) for item in body["$yields"]]

            async def generator(*args: object, **kwargs: object) -> AsyncIterator[Any]:
                for item in items:
                    yield item

            return generator
        inner = self.build(body)

        async def function(*args: object, **kwargs: object) -> Any:
            return inner(*args, **kwargs)

        return function

    def build_stub(
        self,
        body: dict[str, Tree],
        bases: Sequence[str] = (),
        args: Sequence[Tree] = (),
        kwargs: dict[str, Tree] | None = None,
    ) -> Any:
        found = tuple(self.find(base) for base in bases)
        members = {name: self.build(value) for name, value in body.items()}
        return self.call(type("Stub", found, members), args, kwargs)

    def build_after(self, body: Tree, calls: Sequence[dict[str, Tree]]) -> Any:
        value = self.build(body)
        for call in calls:
            self.call(getattr(value, call["method"]), call.get("args", ()), call.get("kwargs"))
        return value


def describe(value: Any, seen: dict[int, int]) -> str:
    """Text that is the same for values of the same types, contents and shared parts."""
    if isinstance(value, (list, dict, set, bytearray, SimpleNamespace, type(describe))):
        if id(value) in seen:
            return f"again {seen[id(value)]}"
        seen[id(value)] = len(seen)
    kind = type(value).__name__
    if isinstance(value, (list, tuple)):
        return f"{kind}({', '.join(describe(item, seen) for item in value)})"
    if isinstance(value, (set, frozenset)):
        return f"{kind}({', '.join(sorted(describe(item, seen) for item in value))})"
    if isinstance(value, SimpleNamespace):
        return "namespace " + describe(vars(value), seen)
    if isinstance(value, dict):
        items = [describe(key, seen) + ": " + describe(item, seen) for key, item in value.items()]
        return f"{kind}({', '.join(items)})"
    if isinstance(value, int):
        return f"{kind} {value:x}"
    if isinstance(value, complex):
        return f"complex {value.real!r} {value.imag!r}"
    if isinstance(value, Exception):
        return f"{kind} {describe(value.args, seen)}"
    if type(value).__name__ == "Stub":
        members = {k: v for k, v in vars(type(value)).items() if k[:1] != "_" or k == "__len__"}
        bases = ascii(type(value).__bases__)
        return f"stub {bases} {describe(members, seen)} {describe(vars(value), seen)}"
    if isinstance(value, type(describe)) and value.__module__ in (None, "__main__", "builtins"):
        return describe_function(value, seen)
    return f"{kind} {ascii(value)}"


def describe_function(function: Built, seen: dict[int, int]) -> str:
    """What calling it does, once and again."""
    first, second = called(function), called(function)
    parts = [part if type(part) is tuple else (part,) for _, part in (first, second)]
    kept = all(map(is_kept, *parts))
    return f"{first[0]} {describe(first[1], seen)}, the same: {kept}"


MARK = "first"


def is_kept(one: object, other: object) -> bool:
    return one is other or isinstance(one, (float, complex))


def called(function: Built) -> tuple[str, Any]:
    try:
        result = function(MARK, 2, 3, 4, 5, x=2)
        if inspect.iscoroutine(result):
            return "awaited", finished(result)
        if inspect.isasyncgen(result):
            return "asynchronous", tuple(drained(result))
        if inspect.isgenerator(result):
            return "generated", tuple(result)
        return "returned", result
    except Exception as error:
        return "raised", error


def finished(coroutine: Coroutine[Any, None, Any]) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


def drained(generator: Any) -> Iterator[Any]:
    while True:
        try:
            yield finished(generator.__anext__())
        except StopAsyncIteration:
            return


def run(source: str) -> Any:
    statements, _, expression = source.rpartition("\n")
    names: dict[str, Any] = {}
    exec(statements, names)
    return eval(expression, names)


def compare(notation: str, source: str) -> str | None:
    expected = describe(Builder().build(json.loads(notation)), {})
    try:
        found = describe(run(source), {})
    except BaseException as error:
        found = repr(error)
    if expected != found:
        printed = f"{notation}\n\nprinted as\n{source}"
        return f"{printed}\n\nexpected {expected}\n   found {found}"
    return None


pairs = json.loads(sys.stdin.buffer.read().decode())
print(json.dumps([message for message in (compare(*pair) for pair in pairs) if message]))
