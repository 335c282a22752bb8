"""Builds values twice, from the JSON notation and by running printed source, and compares.

Standard input: a JSON list of [notation, source], where the last line of a source is the
expression. Standard output: a JSON list with a message for each pair that differs.
"""

import base64
import importlib
import inspect
import json
import sys
from types import SimpleNamespace


class Builder:
    """The meaning of the notation, written down a second time."""

    def __init__(self):
        self.labelled = {}

    def build(self, tree):
        if isinstance(tree, list):
            return self.fill([], tree)
        if not isinstance(tree, dict):
            return tree
        tag = next((key for key in tree if key.startswith("$")), None)
        if tag is None:
            return self.fill({}, tree)
        beside = {key: value for key, value in tree.items() if key != tag}
        return getattr(self, "build_" + tag[1:])(tree[tag], **beside)

    def fill(self, container, tree):
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

    def find(self, name):
        module, path = name.split(":")
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def call(self, function, args, kwargs):
        args = [self.build(arg) for arg in args]
        kwargs = {name: self.build(value) for name, value in (kwargs or {}).items()}
        return function(*args, **kwargs)

    def build_int(self, body):
        return int(body, 0)

    def build_float(self, body):
        return float(body)

    def build_complex(self, body):
        return complex(*map(float, body))

    def build_str(self, body):
        return "".join(map(chr, body))

    def build_bytes(self, body):
        return base64.b64decode(body, validate=True)

    def build_bytearray(self, body):
        return bytearray(base64.b64decode(body, validate=True))

    def build_tuple(self, body):
        return tuple(self.build(item) for item in body)

    def build_set(self, body):
        return {self.build(item) for item in body}

    def build_frozenset(self, body):
        return frozenset(self.build(item) for item in body)

    def build_dict(self, body):
        return self.fill({}, {"$dict": body})

    def build_ellipsis(self, body):
        return {True: ...}[body]

    def build_name(self, body):
        return self.find(body)

    def build_call(self, body, args=(), kwargs=None):
        return self.call(self.find(body), args, kwargs)

    def build_method(self, body, on, args=(), kwargs=None):
        return self.call(getattr(self.build(on), body), args, kwargs)

    def build_repeat(self, body, times):
        return self.build(body) * times

    def build_shared(self, body, label):
        if isinstance(body, list):
            empty = []
        elif isinstance(body, dict) and "$set" in body:
            empty = set()
        elif isinstance(body, dict) and ("$dict" in body or "$" not in {key[:1] for key in body}):
            empty = {}
        else:
            value = self.labelled[label] = self.build(body)
            return value
        self.labelled[label] = empty
        return self.fill(empty, body)

    def build_again(self, body):
        return self.labelled[body]

    def build_returns(self, body):
        value = self.build(body)
        return lambda *args, **kwargs: value

    def build_raises(self, body):
        error = self.build(body)

        def raising(*args, **kwargs):
            raise error

        return raising

    def build_yields(self, body):
        items = [self.build(item) for item in body]

        def generator(*args, **kwargs):
            for item in items:
                yield item

        return generator

    def build_argument(self, body):
        return lambda *args, **kwargs: args[body]

    def build_async(self, body):
        if isinstance(body, dict) and "$yields" in body:
            items = [self.build(item) for item in body["$yields"]]

            async def function(*args, **kwargs):
                for item in items:
                    yield item

        else:
            inner = self.build(body)

            async def function(*args, **kwargs):
                return inner(*args, **kwargs)

        return function

    def build_stub(self, body, bases=(), args=(), kwargs=None):
        bases = tuple(self.find(base) for base in bases)
        members = {name: self.build(value) for name, value in body.items()}
        return self.call(type("Stub", bases, members), args, kwargs)

    def build_after(self, body, calls):
        value = self.build(body)
        for call in calls:
            self.call(getattr(value, call["method"]), call.get("args", ()), call.get("kwargs"))
        return value


def describe(value, seen):
    """Text that is the same for values of the same types, contents and shared parts."""
    if isinstance(value, (list, dict, set, bytearray, SimpleNamespace, type(describe))):
        if id(value) in seen:
            return "again %d" % seen[id(value)]
        seen[id(value)] = len(seen)
    kind = type(value).__name__
    if isinstance(value, (list, tuple)):
        return "%s(%s)" % (kind, ", ".join(describe(item, seen) for item in value))
    if isinstance(value, (set, frozenset)):
        return "%s(%s)" % (kind, ", ".join(sorted(describe(item, seen) for item in value)))
    if isinstance(value, SimpleNamespace):
        return "namespace " + describe(vars(value), seen)
    if isinstance(value, dict):
        items = [describe(key, seen) + ": " + describe(item, seen) for key, item in value.items()]
        return "%s(%s)" % (kind, ", ".join(items))
    if isinstance(value, int):
        return "%s %x" % (kind, value)
    if isinstance(value, complex):
        return "complex %r %r" % (value.real, value.imag)
    if isinstance(value, Exception):
        return "%s %s" % (kind, describe(value.args, seen))
    if type(value).__name__ == "Stub":
        members = {k: v for k, v in vars(type(value)).items() if k[:1] != "_" or k == "__len__"}
        bases = ascii(type(value).__bases__)
        return "stub %s %s %s" % (bases, describe(members, seen), describe(vars(value), seen))
    if isinstance(value, type(describe)) and value.__module__ in (None, "__main__", "builtins"):
        return describe_function(value, seen)
    return "%s %s" % (kind, ascii(value))


def describe_function(function, seen):
    """What calling it does, once and again."""
    first, second = called(function), called(function)
    parts = [part if type(part) is tuple else (part,) for _, part in (first, second)]
    kept = all(map(is_kept, *parts))
    return "%s %s, the same: %s" % (first[0], describe(first[1], seen), kept)


MARK = "first"


def is_kept(one, other):
    return one is other or isinstance(one, (float, complex))


def called(function):
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


def finished(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


def drained(generator):
    while True:
        try:
            yield finished(generator.__anext__())
        except StopAsyncIteration:
            return


def run(source):
    statements, _, expression = source.rpartition("\n")
    names = {}
    exec(statements, names)
    return eval(expression, names)


def compare(notation, source):
    expected = describe(Builder().build(json.loads(notation)), {})
    try:
        found = describe(run(source), {})
    except BaseException as error:
        found = repr(error)
    if expected != found:
        what = (notation, source, expected, found)
        return "%s\n\nprinted as\n%s\n\nexpected %s\n   found %s" % what
    return None


pairs = json.loads(sys.stdin.buffer.read().decode())
print(json.dumps([message for message in (compare(*pair) for pair in pairs) if message]))
