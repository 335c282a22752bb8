"""Reads names, attributes and texts of foreign objects without running the guest's code.

Plain attribute access can be overridden by a metaclass, a property or `__getattr__`; the
descriptors of `type` and `BaseException` cannot. Invariant: every text handed out is an exact
`str`, so that `marshal` takes it.
"""

from __future__ import annotations

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

_TYPE = type.__dict__
_module_of = _TYPE["__module__"].__get__
_qualname_of = _TYPE["__qualname__"].__get__
mro_of = _TYPE["__mro__"].__get__
dict_of = _TYPE["__dict__"].__get__
# Unlike formatting, `join` calls no methods of a subclass of `str`.
_joined = "".join
SLOT = type(object.__init__)


def is_one_of(cls: type, types: Any) -> bool:
    """Whether the class is in a set or dictionary of builtin types.

    A plain `in` would call `__hash__` of the class's metaclass.
    """
    return type(cls) is type and cls in types


def exact(text: Any) -> str | None:
    """A plain `str` with the same characters, or `None` for other types."""
    if type(text) is str:
        return text
    if issubclass(type(text), str):
        return _joined((text,))
    return None


def full_name(cls: type) -> str:
    """The name of a type with its module; builtins have none."""
    try:
        module = exact(_module_of(cls))
    except Exception:
        module = None
    try:
        name = exact(_qualname_of(cls)) or "?"
    except Exception:
        name = "?"
    if module is None:
        module = "?"
    if module == "builtins":
        return name[:500]
    return module[:500] + "." + name[:500]


def in_class(cls: type, name: str) -> Any:
    """The attribute of a class or its bases, unbound; `None` if none defines it."""
    for base in mro_of(cls):
        found = dict_of(base)
        if name in found:
            return found[name]
    return None


def is_slot(cls: type, name: str) -> bool:
    """Whether the method of that name is implemented in C and runs none of the guest's Python."""
    return type(in_class(cls, name)) is SLOT
