"""Arguments are built from their description."""

from cases import case, equal, guest, result_of


@case
def values_of_every_kind_are_built():
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
        expected = (
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
def deep_arguments_are_built():
    value = 0
    for _ in range(900):
        value = ("l", [value])
    text = "def f(v):\n    n = 0\n    while v:\n        v = v[0]\n        n += 1\n    return n"
    full = result_of(text, [value])
    equal(full["value"] and full["value"]["value"], 900, full["exception"])
    equal(full["changed"]["recursion_limit"], None)


@case
def a_callable_argument_does_not_lead_to_the_harness():
    full = result_of("def f(fn):\n    return sorted(fn.__globals__)", [("f", 1)])
    equal(full["value"]["value"], ("l", ["__builtins__", "__name__"]))


@case
def plain_arguments_are_taken_as_they_are():
    with guest("def f(a, *, b):\n    return [a, b]") as one:
        full = one.call("m:f", [1], kwargs=[["b", "x"]], plain=True)
        equal(full["value"]["value"], ("l", [1, "x"]))
