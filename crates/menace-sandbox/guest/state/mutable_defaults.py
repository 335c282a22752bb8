"""Finds default values of parameters that a call has changed for the next one.

Loaded for functions that have a mutable default. Invariant: comparing runs none of the guest's
code: containers are walked as their builtin base class would, everything else counts by identity.
"""

from __future__ import annotations

from describe.introspect import exact
from runtime.call import MUTABLE

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

MAX_NODES = 2000


class MutableDefaults:
    """The mutable defaults of one function, as they were before the call."""

    __slots__ = ("before",)

    def __init__(self, function: Callable) -> None:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        values = function.__defaults__ or ()
        pairs = list(zip(names[len(names) - len(values) :], values))
        pairs += (function.__kwdefaults__ or {}).items()
        self.before = [
            (exact(name) or "?", value, _seen(value))
            for name, value in pairs
            if issubclass(type(value), MUTABLE)
        ]

    def changed(self) -> list:
        """The names of parameters whose default has changed."""
        return [name for name, value, before in self.before if _seen(value) != before]


_ITEMS = (
    (dict, lambda subject: [part for pair in dict.items(subject) for part in pair]),
    (list, lambda subject: list.__getitem__(subject, slice(None))),
    (set, lambda subject: list(set.__iter__(subject))),
    (tuple, lambda subject: list(tuple.__iter__(subject))),
)
_SCALARS = frozenset((str, bytes, int, bool, type(None)))


def _seen(subject: Any) -> list:
    """The content of a container, in a form that compares without calling methods of the items.

    The items are kept alive, so that none of their addresses is reused.
    """
    seen: list = []
    waiting = [subject]
    within = set()
    while waiting and len(seen) < MAX_NODES:
        subject = waiting.pop()
        cls = type(subject)
        if type(cls) is type and cls in _SCALARS:
            seen.append((cls.__name__, subject))
            continue
        if issubclass(cls, bytearray):
            seen.append(bytes(memoryview(subject)))
            continue
        seen.append(_Same(subject))
        if id(subject) not in within:
            within.add(id(subject))
            for base, items in _ITEMS:
                if issubclass(cls, base):
                    inner = items(subject)
                    seen.append(len(inner))
                    waiting += inner[:MAX_NODES]
                    break
    return seen


class _Same:
    """Wraps an object so that it equals only itself."""

    __slots__ = ("subject",)

    def __init__(self, subject: object) -> None:
        self.subject = subject

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and self.subject is other.subject

    __hash__ = None
