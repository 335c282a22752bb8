"""What came out is described: `repr`, hash, typed copy."""

from __future__ import annotations

import math
import time
from typing import Any, Sequence

from cases import case, equal, guest, result_of
from driving import Report


def value_of(expression: str, **more: Any) -> Report:
    return result_of("def f():\n    return " + expression, **more)["value"]


@case
def plain_values_come_back_as_they_are() -> None:
    for expression in (
        "None",
        "True",
        "-7",
        "2**70",
        "-(2**63)",
        "1.25",
        "float('inf')",
        "'text\\ud800'",
        "b'\\x00\\xff'",
        "[1, [2, (3,)], {'a': {4}}]",
        "()",
        "set()",
        "frozenset()",
        "frozenset({1})",
        "{}",
        "...",
        "1+2j",
        "bytearray(b'x')",
    ):
        described = value_of(expression)
        expected = eval(expression)
        equal(described["repr"], repr(expected), expression)
        equal(described["truncated"], False, expression)
        equal(rebuilt(described["value"]), expected, expression)
        equal(described["type"], type(expected).__name__)
    described = value_of("float('nan')")
    assert math.isnan(described["value"]) and described["hash"]


def rebuilt(value: Any) -> Any:
    """The value of a typed copy, without cycles."""
    if type(value) is not tuple:
        return value
    tag = value[0]
    if tag == "d":
        return {rebuilt(k): rebuilt(v) for k, v in value[1]}
    if tag in "ltsz":
        kind = {"l": list, "t": tuple, "s": set, "z": frozenset}[tag]
        return kind(rebuilt(item) for item in value[1])
    return {
        "a": lambda: bytearray(value[1]),
        "c": lambda: complex(value[1], value[2]),
        "i": lambda: int(value[1], 16),
        "e": lambda: Ellipsis,
    }[tag]()


@case
def cycles_are_labelled() -> None:
    text = "def f():\n    a = [1]\n    a.append(a)\n    d = {'a': a}\n    d['d'] = d\n    return d"
    value = result_of(text)["value"]
    equal(value["repr"], "{'a': [1, [...]], 'd': {...}}")
    label_a = value["value"][2][1][0][1][1]
    label_d = value["value"][1]
    assert label_a != label_d
    expected = (
        "g",
        label_d,
        ("d", [["a", ("g", label_a, ("l", [1, ("v", label_a)]))], ["d", ("v", label_d)]]),
    )
    equal(value["value"], expected)
    assert value["hash"]


@case
def the_hash_does_not_depend_on_order_or_address() -> None:
    with guest(
        """
        class P:
            pass
        class D:
            def __init__(self, n):
                self.n = n
            def __repr__(self):
                return 'D(%d) at 0x%x end' % (self.n, id(self))
        def s(words):
            return set(words)
        def d(pairs):
            return dict(pairs)
        def p():
            junk = [P() for _ in range(50)]
            return junk[0], junk[-1]
        def e(n):
            return [object() for _ in range(n * 100)][-1]
        def r(n):
            return D(n)
        def v(value):
            return value
        """
    ) as one:

        def digest(name: str, args: Sequence[object]) -> str:
            found = one.call(name, args)["value"]["hash"]
            assert found and len(found) == 32
            return found

        words = ["alpha", "beta", "gamma", "delta"]
        equal(digest("m:s", [("l", words)]), digest("m:s", [("l", words[::-1])]))
        pairs = [("t", ["a", 1]), ("t", ["b", 2])]
        equal(digest("m:d", [("l", pairs)]), digest("m:d", [("l", pairs[::-1])]))
        equal(digest("m:e", [1]), digest("m:e", [5]))
        equal(digest("m:p", []), digest("m:p", []))
        equal(digest("m:r", [1]), digest("m:r", [1]))
        different = [0, False, 0.0, "", b"", None, ("l", []), ("t", []), ("s", []), ("d", [])]
        different += [1, "1", b"1", -0.0, ("l", [1, 2]), ("l", [2, 1]), ("l", [("l", [1]), 2])]
        different += [("l", ["a", "b"]), ("l", ["ab"]), ("l", ["a", ("l", ["b"])]), ("a", b"")]
        hashes = [digest("m:v", [value]) for value in different]
        equal(len(set(hashes)), len(different))
        assert digest("m:r", [1]) != digest("m:r", [2])
    text = "def f():\n    return {'alpha', 'beta', 'gamma'}"
    equal(result_of(text)["value"], result_of(text)["value"])


@case
def long_results_are_cut() -> None:
    value = value_of("'x' * 5000", description_limits={"repr": 100})
    equal(value["repr"], "'" + "x" * 99)
    equal((value["truncated"], value["length"]), (True, 5000))
    value = value_of("list(range(1000))", description_limits={"repr": 10, "items": 10})
    equal((value["repr"], value["value"], value["length"]), ("[0, 1, 2, ", None, 1000))
    value = value_of("[[[[1]]]]", description_limits={"depth": 2})
    equal((value["repr"], value["value"], value["truncated"]), ("[[[...]]]", None, True))


@case
def enormous_results_are_described_quickly_and_in_little_memory() -> None:
    for expression in (
        "'x' * 100_000_000",
        "b'x' * 100_000_000",
        "bytearray(100_000_000)",
        "[0] * 12_500_000",
        "(0,) * 12_500_000",
        "dict.fromkeys(range(300_000))",
        "set(range(300_000))",
        "[[[0] * 1000] * 1000] * 1000",
        "1 << 80_000_000",
        "-(1 << 80_000_000)",
        "__import__('array').array('b', bytes(100_000_000))",
        "type('L', (list,), {})([0]) * 12_500_000",
        "__import__('collections').deque([0] * 1_000_000)",
    ):
        with guest("def f():\n    return " + expression) as one:
            began = time.monotonic()
            full = one.call("m:f")
            took = time.monotonic() - began
            equal(full["kind"], "returned", expression)
            assert took < 3.0, (expression, took)
            assert one.exited["maxrss"] < 300_000, (expression, one.exited["maxrss"])
            assert full["value"]["truncated"] or full["notes"], expression
            assert full["value"]["value"] is None, expression
