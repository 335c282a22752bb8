"""The typed copy of a result: plain values in the protocol's description of values.

Invariant: a copy is complete, or it is `None`; it never describes another value.
"""

from __future__ import annotations

from describe.introspect import is_one_of

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

MAX_TEXT_CHARS = 65536
MAX_INT_BITS = 262_144
MAX_NODES = 20_000
TAGS: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z", dict: "d"}


class _Impossible(Exception):
    pass


class Copier:
    """Copies one result."""

    __slots__ = ("deepest", "labels", "longest", "nodes", "path", "text")

    def __init__(self, longest: int, deepest: int) -> None:
        self.longest = longest
        self.deepest = deepest
        self.nodes = 0
        self.text = 0
        self.path: dict = {}
        self.labels: dict = {}

    def copy(self, subject: object) -> object:
        """The description of the result, or `None`."""
        try:
            return self._copied(subject, 0)
        except _Impossible:
            return None

    def _copied(self, subject: Any, depth: int) -> object:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _Impossible
        cls = type(subject)
        if cls is int:
            bits = subject.bit_length()
            if bits < 64:
                return subject
            if bits > MAX_INT_BITS:
                raise _Impossible
            return ("i", hex(subject))
        if cls is str or cls is bytes or cls is bytearray:
            self.text += len(subject)
            if self.text > MAX_TEXT_CHARS:
                raise _Impossible
            return ("a", bytes(subject)) if cls is bytearray else subject
        if subject is None or cls is bool or cls is float:
            return subject
        if is_one_of(cls, TAGS):
            return self._container(subject, cls, depth)
        if cls is complex:
            return ("c", subject.real, subject.imag)
        if subject is ...:
            return ("e",)
        raise _Impossible

    def _container(self, subject: Any, cls: type, depth: int) -> tuple:
        key = id(subject)
        if key in self.path:
            return ("v", self.labels.setdefault(key, len(self.labels)))
        if depth >= self.deepest or len(subject) > self.longest:
            raise _Impossible
        self.path[key] = True
        if cls is dict:
            items: list = [
                [self._copied(name, depth + 1), self._copied(value, depth + 1)]
                for name, value in subject.items()
            ]
        else:
            items = [self._copied(item, depth + 1) for item in subject]
            if cls is set or cls is frozenset:
                items.sort(key=repr)
        del self.path[key]
        copied = (TAGS[cls], items)
        label = self.labels.get(key)
        return copied if label is None else ("g", label, copied)
