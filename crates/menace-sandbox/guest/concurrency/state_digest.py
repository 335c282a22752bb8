"""Hashes the state that runs leave, for comparison, without running the guest's code.

Only instances of the repository's own classes are hashed by their attributes. Other objects, like
locks, threads and loggers, count by type. Order is ignored: concurrent runs may have any order.
"""

from __future__ import annotations

import sys
from _collections import deque

from describe.digest import Hasher
from describe.introspect import dict_of, exact, full_name, is_slot, mro_of

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

_modules = sys.modules
_Module = type(sys)
_Function = type(full_name)
_module_of = type.__dict__["__module__"].__get__
_Member = type(_Function.__dict__["__globals__"])
_GetSet = type(_Function.__dict__["__code__"])
MAX_OBJECTS = 20_000
# Modules of value types implemented in C, whose `repr` shows all of their state.
VALUES = ("datetime", "decimal", "fractions", "array", "ipaddress")


class ThreadBlindHasher(Hasher):
    """Hashes without the ids and names of threads."""

    __slots__ = ()

    def _encoded(self, subject: object, depth: int) -> bytes:
        if type(subject) is int and subject in self.foreign.threads:
            return b"thread"
        return Hasher._encoded(self, subject, depth)


class OrderBlindHasher(ThreadBlindHasher):
    """Hashes without the order of lists, either."""

    __slots__ = ()
    UNORDERED = frozenset((set, frozenset, list))


class StateDigest:
    """Hashes objects of the guest for one comparison."""

    __slots__ = ("known", "left", "repo", "threads", "within")

    def __init__(self, repo: str, threads: set) -> None:
        self.repo = repo
        self.threads = threads
        self.known: dict = {}
        self.left = MAX_OBJECTS
        self.within: set = set()

    def digest(self, subject: object) -> str:
        """The hash of a result."""
        return ThreadBlindHasher(self).digest(subject)

    def digest_unordered(self, subject: object) -> str:
        """The hash of the state left behind."""
        return OrderBlindHasher(self).digest(subject)

    def text(self, subject: object) -> str:
        """The text that represents the object in a hash."""
        if id(subject) in self.within or self.left <= 0:
            return "^"
        self.left -= 1
        self.within.add(id(subject))
        try:
            return self._looked_into(subject, type(subject))
        except Exception:
            return "?"
        finally:
            self.within.discard(id(subject))

    def _looked_into(self, subject: Any, cls: type) -> str:
        parts: list = []
        for base, plain in CONTAINERS:
            if issubclass(cls, base):
                parts.append(plain(subject))
                break
        else:
            if issubclass(cls, SCALARS):
                parts.append(_scalar(subject, cls))
            elif (
                type(cls) is type and exact(_module_of(cls)) in VALUES and is_slot(cls, "__repr__")
            ):
                parts.append(repr(subject))
        if self.is_own(cls):
            parts.append(attributes(subject, cls))
        return self.digest_unordered(parts)

    def is_own(self, cls: type) -> bool:
        """Whether the class was defined in the repository."""
        known = self.known.get(id(cls))
        if known is None:
            known = self.known[id(cls)] = (cls, self._is_in_repository(cls))
        return known[1]

    def _is_in_repository(self, cls: type) -> bool:
        module = _modules.get(exact(_module_of(cls)))
        file = exact(module.__dict__.get("__file__")) if type(module) is _Module else None
        return file is not None and file.startswith(self.repo)

    def data_of(self, names: dict) -> dict:
        """The data of a module, and that of its classes."""
        data = {}
        for name, value in list(names.items()):
            if type(name) is not str or name[:2] == "__":
                continue
            cls = type(value)
            if issubclass(cls, type):
                if self.is_own(value):
                    inner = dict_of(value).items()
                    data[name] = {n: v for n, v in inner if n[:2] != "__" and self._is_data(v)}
            elif self._is_data(value):
                data[name] = value
        return data

    def _is_data(self, value: object) -> bool:
        cls = type(value)
        plain = PLAIN_BASES + SCALARS
        return value is None or issubclass(cls, plain) or self.is_own(cls)


def attributes(subject: object, cls: type) -> dict:
    """The attributes of an instance, in its dictionary and in slots."""
    found = {}
    for base in mro_of(cls):
        for name, entry in dict_of(base).items():
            if type(entry) is _Member and type(name) is str and name not in found:
                try:
                    found[name] = entry.__get__(subject)
                except AttributeError:
                    pass
            elif name == "__dict__" and type(entry) is _GetSet:
                found.update(dict.copy(entry.__get__(subject)))
    return found


def _scalar(subject: object, cls: type) -> str:
    for base in SCALARS:
        if issubclass(cls, base):
            return base.__repr__(subject)
    return "?"


SCALARS = (bool, int, float, complex, str, bytes)
PLAIN_BASES = (dict, list, tuple, set, frozenset, bytearray, deque)
CONTAINERS = (
    (dict, dict.copy),
    (list, lambda subject: list.__getitem__(subject, slice(None))),
    (tuple, lambda subject: list(tuple.__iter__(subject))),
    (set, lambda subject: list(set.__iter__(subject))),
    (frozenset, lambda subject: list(frozenset.__iter__(subject))),
    (bytearray, lambda subject: bytes(memoryview(subject))),
    (deque, lambda subject: list(deque.__iter__(subject))),
)
