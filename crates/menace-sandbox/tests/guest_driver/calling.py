"""Functions, methods, properties and modules are found and called."""

from __future__ import annotations

from typing import Any

from cases import case, equal, guest, new, result_of
from driving import Guest
from under_test import PYTHON


@case
def a_function_is_called_with_arguments() -> None:
    full = result_of("def f(a, b=2, *, c):\n    return a + b + c", [1], kwargs=[["c", 10]])
    equal((full["kind"], full["stage"]), ("returned", "call"))
    equal(full["value"]["value"], 13)
    equal(full["value"]["repr"], "13")
    equal(full["value"]["type"], "int")
    equal(len(full["value"]["hash"]), 32)
    assert full["wall_ns"] > 0 and full["exception"] is None


@case
def calls_do_not_see_each_other() -> None:
    with guest("seen = []\ndef f():\n    seen.append(1)\n    return len(seen)") as one:
        for _ in range(3):
            equal(one.call("m:f")["value"]["value"], 1)


CLASSES = """
    import functools
    class A:
        def __init__(self, n=1):
            self.n = n
        def m(self, k):
            return ('A.m', self.n, k)
        def __secret(self):
            return 'secret'
        @classmethod
        def c(cls, k):
            return (cls.__name__, k)
        @staticmethod
        def s(k):
            return k
        @property
        def p(self):
            return self.n * 2
        @functools.lru_cache()
        def cached(self):
            return 'cached'
        class B:
            class C:
                def deep(self):
                    return 'deep'
    class Sub(A):
        def m(self, k):
            return 'Sub.m'
    def wrapper(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return ('wrapped', f(*args, **kwargs))
        return inner
    @wrapper
    def w(k):
        return k
    def outer():
        def inner():
            pass
    not_callable = 5
"""


@case
def methods_properties_and_nested_classes_are_called() -> None:
    with guest(CLASSES) as one:

        def value(*args: Any, **more: Any) -> object:
            return one.call(*args, **more)["value"]["value"]

        equal(value("m:A.m", [5], "method", new("m:A", 9)), ("t", ["A.m", 9, 5]))
        equal(value("m:A.p", [], "property", new("m:A", 9)), 18)
        equal(value("m:A.c", [5], "class_method"), ("t", ["A", 5]))
        equal(value("m:A.s", [5], "static_method"), 5)
        equal(value("m:A.B.C.deep", [], "method", new("m:A.B.C")), "deep")
        equal(value("m:A.__secret", [], "method", new("m:A")), "secret")
        equal(value("m:A.cached", [], "method", new("m:A")), "cached")
        equal(value("m:w", [5]), ("t", ["wrapped", 5]))


@case
def a_method_is_the_named_one_even_on_an_instance_of_a_subclass() -> None:
    with guest(CLASSES) as one:
        full = one.call("m:A.m", [5], "method", new("m:Sub", 9))
        equal(full["value"]["value"], ("t", ["A.m", 9, 5]))


@case
def a_name_that_leads_nowhere_is_unreachable() -> None:
    with guest(CLASSES) as one:
        for name, kind in (
            ("m:nothing", "function"),
            ("m:A.nothing", "method"),
            ("m:A.nothing.at_all", "function"),
            ("m:outer.<locals>.inner", "function"),
            ("m:not_callable", "function"),
        ):
            full = one.call(name, [], kind, new("m:A") if kind == "method" else None)
            equal((full["kind"], full["stage"]), ("unreachable", "resolve"), name)
            assert full["exception"] is not None


@case
def a_method_without_instance_is_unreachable() -> None:
    with guest(CLASSES) as one:
        full = one.call("m:A.m", [5], "method")
        equal((full["kind"], full["stage"]), ("unreachable", "construct"))


@case
def a_receiver_that_cannot_be_made_is_distinguished_from_the_call() -> None:
    text = """
        class A:
            def __init__(self):
                raise OSError(28, 'full')
            def m(self):
                pass
        def f(a):
            pass
    """
    with guest(text) as one:
        full = one.call("m:A.m", [], "method", new("m:A"))
        equal((full["kind"], full["stage"]), ("raised", "construct"))
        equal((full["exception"]["type"], full["exception"]["errno"]), ("OSError", 28))
        full = one.call("m:f", [new("m:A")])
        equal((full["kind"], full["stage"]), ("raised", "arguments"))
        full = one.call("m:f", [("r", "m:nope")])
        equal((full["kind"], full["stage"]), ("raised", "arguments"))


@case
def wrong_arguments_are_a_type_error_of_the_call() -> None:
    full = result_of("def f():\n    pass", [1, 2])
    equal((full["kind"], full["stage"]), ("raised", "call"))
    equal(full["exception"]["type"], "TypeError")
    equal(full["exception"]["frames"], [])


@case
def a_module_is_imported_in_the_child() -> None:
    files = {"broken.py": "1 / 0\n", "fine.py": "x = 1\n"}
    with Guest(PYTHON, files) as one:
        full = one.call("fine:", kind="module")
        equal((full["kind"], full["stage"], full["value"]), ("returned", "import", None))
        assert full["state_changes"]["modules"] >= 1
        full = one.call("broken:", kind="module")
        equal((full["kind"], full["stage"]), ("raised", "import"))
        equal(full["exception"]["type"], "ZeroDivisionError")


@case
def a_call_without_a_previous_import_imports_in_the_child() -> None:
    with Guest(PYTHON, {"late.py": "def f():\n    return 4\n", "bad.py": "1 / 0\n"}) as one:
        equal(one.call("late:f")["value"]["value"], 4)
        full = one.call("bad:f")
        equal((full["kind"], full["stage"]), ("raised", "import"))


@case
def malformed_calls_are_refused() -> None:
    with guest("def f():\n    return 1") as one:
        forked = one.start_call("m:f")
        del one.message["description_limits"]
        one.let_go()
        one.wait_for_end(forked["pid"], 5.0)
        one.reap(forked["pid"])
        equal(one.exited["status"] >> 8, 73)
        equal(one.call("m:f")["value"]["value"], 1)
