"""Arguments are built from their description."""

from __future__ import annotations

from cases import case, equal, guest, result_of


@case
def values_of_every_kind_are_built() -> None:
    cycle = ("g", 1, ("l", [1, ("v", 1)]))
    described = [
        None,
        True,
        1.5,
        "text",
        b"bytes",
        ("l", [1, ("t", [2])]),
        ("s", [1, 2]),
        ("z", [1]),
        ("d", [["a", ("l", [])]]),
        ("a", b"xy"),
        ("c", 1.0, -2.0),
        ("i", "-0x1" + "0" * 40),
        ("e",),
        ("x", ("l", [0]), 3),
        ("m", "a,b", "split", [","], []),
        ("n", "builtins:dict", [], [["k", 1]]),
    ]
    text = """
        def f(*args):
            return args
        def g(c, same):
            return c[1] is c, same is c
        def h(fn):
            return fn(1, 2, k=3), fn()
    """
    with guest(text) as one:
        full = one.call("m:f", described)
        equal(full["kind"], "returned", full)
        built = eval(full["value"]["repr"])
        expected: tuple[object, ...] = (
            None,
            True,
            1.5,
            "text",
            b"bytes",
            [1, (2,)],
            {1, 2},
            frozenset([1]),
            {"a": []},
            bytearray(b"xy"),
            1 - 2j,
            -(16**40),
            Ellipsis,
            [0, 0, 0],
            ["a", "b"],
            {"k": 1},
        )
        equal(built, expected)
        equal(one.call("m:g", [cycle, ("v", 1)])["value"]["value"], ("t", [True, True]))
        equal(one.call("m:h", [("f", 9)])["value"]["value"], ("t", [9, 9]))


@case
def deep_arguments_are_built() -> None:
    value: object = 0
    for _ in range(900):
        value = ("l", [value])
    text = "def f(v):\n    n = 0\n    while v:\n        v = v[0]\n        n += 1\n    return n"
    full = result_of(text, [value])
    equal(full["value"] and full["value"]["value"], 900, full["exception"])
    equal(full["state_changes"]["recursion_limit"], None)


@case
def a_callable_argument_does_not_lead_to_the_harness() -> None:
    full = result_of("def f(fn):\n    return sorted(fn.__globals__)", [("f", 1)])
    equal(full["value"]["value"], ("l", ["__builtins__", "__name__"]))


@case
def callables_raise_yield_and_hand_back() -> None:
    text = """
        def f(raising, generator, argument):
            try:
                raising(1, k=2)
            except KeyError as error:
                caught = error.args
            made = generator(1)
            return caught, type(made).__name__, list(made), list(generator()), argument(7, 8)
    """
    described = [
        ("b", ("n", "builtins:KeyError", ["gone"], [])),
        ("y", [1, ("l", [])]),
        ("k", 1),
    ]
    full = result_of(text, described)
    expected = (("gone",), "generator", [1, []], [1, []], 8)
    equal(eval(full["value"]["repr"]), expected, full["exception"])


@case
def callables_can_be_awaited() -> None:
    text = """
        import inspect
        async def f(returns, raises, yields, named):
            try:
                await raises()
            except OSError as error:
                caught = type(error).__name__
            items = [item async for item in yields()]
            assert inspect.iscoroutinefunction(returns)
            return await returns(1), caught, items, await named("abc")
    """
    described = [
        ("w", ("f", 5)),
        ("w", ("b", ("n", "builtins:OSError", [], []))),
        ("w", ("y", [1, 2])),
        ("w", ("r", "builtins:len")),
    ]
    full = result_of(text, described)
    equal(eval(full["value"]["repr"]), (5, "OSError", [1, 2], 3), full["exception"])


@case
def stubs_are_instances_of_what_is_asked_for() -> None:
    text = """
        import abc
        from typing import Generic, TypeVar
        try:
            from typing import Protocol
        except ImportError:
            Protocol = object
        T = TypeVar("T")
        class Shape(abc.ABC):
            def __init__(self, name, scale=1):
                self.name, self.scale = name, scale
            @abc.abstractmethod
            def area(self): ...
            def doubled(self):
                return self.area() * 2
        class Sized(Protocol):
            def size(self) -> int: ...
        class Box(Generic[T]): pass
        def f(shape, sized, duck):
            assert isinstance(shape, Shape) and Sized in type(sized).__mro__
            with duck as inside:
                assert inside is duck
                items = [item for item in duck]
            return shape.doubled(), shape.name, shape.scale, sized.size(), duck.colour, items
        def g(box):
            return isinstance(box, Box), type(box).__module__
    """
    described = [
        ("o", ["m:Shape"], [["area", ("f", 4)]], ["square"], [["scale", 3]]),
        ("o", ["m:Sized"], [["size", ("f", 9)]], [], []),
        (
            "o",
            [],
            [
                ["colour", "red"],
                ["__enter__", ("k", 0)],
                ["__exit__", ("f", None)],
                ["__iter__", ("y", [1, 2])],
            ],
            [],
            [],
        ),
    ]
    with guest(text) as one:
        full = one.call("m:f", described)
        expected = (8, "square", 3, 9, "red", [1, 2])
        equal(eval(full["value"]["repr"]), expected, full["exception"])
        full = one.call("m:g", [("o", ["m:Box"], [], [], [])])
        equal(full["value"]["value"], ("t", [True, "stub"]), full["exception"])


@case
def a_stub_without_an_abstract_method_is_no_instance() -> None:
    text = """
        import abc
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        def f(shape):
            return shape
    """
    full = result_of(text, [("o", ["m:Shape"], [], [], [])])
    equal(
        (full["kind"], full["stage"], full["exception"]["type"]),
        ("raised", "arguments", "TypeError"),
    )


@case
def objects_have_a_past() -> None:
    text = "def f(file, stack):\n    return file.closed, stack"
    described = [
        ("h", ("n", "io:StringIO", ["x"], []), [["close", [], []]]),
        ("h", ("l", []), [["append", [1], []], ["extend", [("l", [2, 3])], []], ["pop", [0], []]]),
    ]
    full = result_of(text, described)
    equal(full["value"]["value"], ("t", [True, ("l", [2, 3])]), full["exception"])
    shared: tuple[object, ...] = ("g", 1, ("h", ("l", []), [["append", [1], []]]))
    full = result_of("def f(a, b):\n    return a is b, a", [shared, ("v", 1)])
    equal(full["value"]["value"], ("t", [True, ("l", [1])]), full["exception"])


@case
def stubs_do_not_lead_to_the_harness() -> None:
    text = """
        def f(*functions):
            return [sorted(function.__globals__) for function in functions]
        def g(stub):
            return vars(type(stub))["__module__"], sorted(vars(stub))
    """
    described = [
        ("b", ("n", "builtins:OSError", [], [])),
        ("y", []),
        ("k", 0),
        ("w", ("f", 1)),
        ("w", ("y", [])),
    ]
    with guest(text) as one:
        full = one.call("m:f", described)
        equal(eval(full["value"]["repr"]), [["__builtins__", "__name__"]] * 5)
        full = one.call("m:g", [("o", [], [], [], [])])
        equal(full["value"]["value"], ("t", ["stub", ("l", [])]))


@case
def plain_arguments_are_taken_as_they_are() -> None:
    with guest("def f(a, *, b):\n    return [a, b]") as one:
        full = one.call("m:f", [1], kwargs=[["b", "x"]], needs_no_building=True)
        equal(full["value"]["value"], ("l", [1, "x"]))
