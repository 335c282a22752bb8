"""Builds receivers and arguments from their descriptions (see "Values" in the protocol).

Resolving names belongs to `runtime.modules`. Errors of the guest's constructors pass through.
"""

from __future__ import annotations

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any


def _make_constant(value: object) -> Callable:
    def constant(*_args, **_kwargs):
        return value

    return constant


# Callables for the guest get globals of their own: `__globals__` must not lead to the harness.
STUB_GLOBALS = {"__name__": "stub", "__builtins__": {}}


def detach_globals(maker: Any) -> Callable:
    """A copy of the function with `STUB_GLOBALS`, which do not lead to the harness."""
    return type(maker)(maker.__code__, STUB_GLOBALS)


_make_constant = detach_globals(_make_constant)


class Builder:
    """Builds the values of one call; labels are shared between all of them."""

    __slots__ = ("find", "remembered")

    def __init__(self, find: Callable) -> None:
        self.find = find
        self.remembered: dict = {}

    def build(self, described: object) -> object:
        """Builds the described value."""
        if type(described) is not tuple:
            return described
        return MAKERS[described[0]](self, described, None)

    def call(self, function: Callable, args: list, kwargs: list) -> object:
        """Calls the function with described arguments."""
        positional = []
        for value in args:
            positional.append(self.build(value))
        named = {}
        for name, value in kwargs:
            named[name] = self.build(value)
        return function(*positional, **named)

    def _fill_later(self, label: int | None, container: Any) -> Any:
        if label is not None:
            self.remembered[label] = container
        return container

    def _list(self, described: Any, label: int | None) -> list:
        made = self._fill_later(label, [])
        for item in described[1]:
            made.append(self.build(item))
        return made

    def _tuple(self, described: object, _label: int | None) -> tuple:
        return tuple(self._list(described, None))

    def _set(self, described: Any, label: int | None) -> set:
        made = self._fill_later(label, set())
        for item in described[1]:
            made.add(self.build(item))
        return made

    def _frozenset(self, described: object, _label: int | None) -> frozenset:
        return frozenset(self._list(described, None))

    def _dict(self, described: Any, label: int | None) -> dict:
        made = self._fill_later(label, {})
        for key, value in described[1]:
            key = self.build(key)
            made[key] = self.build(value)
        return made

    def _bytearray(self, described: Any, label: int | None) -> bytearray:
        return self._fill_later(label, bytearray(described[1]))

    def _complex(self, described: Any, _label: int | None) -> complex:
        return complex(described[1], described[2])

    def _int(self, described: Any, _label: int | None) -> int:
        return int(described[1], 16)

    def _ellipsis(self, _described: tuple, _label: int | None) -> object:
        return ...

    def _reference(self, described: Any, _label: int | None) -> object:
        return self.find(described[1])

    def _new(self, described: Any, _label: int | None) -> object:
        return self.call(self.find(described[1]), described[2], described[3])

    def _method(self, described: Any, _label: int | None) -> object:
        subject = self.build(described[1])
        return self.call(getattr(subject, described[2]), described[3], described[4])

    def _repeated(self, described: Any, _label: int | None) -> object:
        return self.build(described[1]) * described[2]

    def _remember(self, described: Any, _label: int | None) -> object:
        label, inner = described[1], described[2]
        if type(inner) is tuple:
            made = MAKERS[inner[0]](self, inner, label)
        else:
            made = inner
        self.remembered[label] = made
        return made

    def _recall(self, described: Any, _label: int | None) -> object:
        return self.remembered[described[1]]

    def _callable(self, described: Any, _label: int | None) -> Callable:
        return _make_constant(self.build(described[1]))

    def _stub(self, described: Any, _label: int | None) -> object:
        # Loaded only by calls that have such values.
        from arguments.stubs import STUBS

        return STUBS[described[0]](self, described)


MAKERS = {
    "l": Builder._list,
    "t": Builder._tuple,
    "s": Builder._set,
    "z": Builder._frozenset,
    "d": Builder._dict,
    "a": Builder._bytearray,
    "c": Builder._complex,
    "i": Builder._int,
    "e": Builder._ellipsis,
    "r": Builder._reference,
    "n": Builder._new,
    "m": Builder._method,
    "x": Builder._repeated,
    "g": Builder._remember,
    "v": Builder._recall,
    "f": Builder._callable,
    "b": Builder._stub,
    "y": Builder._stub,
    "k": Builder._stub,
    "w": Builder._stub,
    "o": Builder._stub,
    "h": Builder._stub,
}
