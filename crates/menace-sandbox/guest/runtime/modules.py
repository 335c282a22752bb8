"""Imports the guest's modules and resolves qualified names in them.

A module whose name does not lead to its file is loaded from the file under that name. Invariant: a
module of the standard library that is already loaded is never replaced in `sys.modules` by a file
of the repository with the same name; such a file is kept in `Modules`.
"""

from __future__ import annotations

import sys
from builtins import __import__ as import_for_guest
from posix import stat

from describe.introspect import dict_of, exact, in_class

if False:  # for type checkers only: nothing is loaded at run time
    from types import ModuleType
    from typing import Any

_bootstrap = sys.modules["_frozen_importlib"]
_external = sys.modules["_frozen_importlib_external"]
_find_spec = _bootstrap._find_spec
_module_from_spec = _bootstrap.module_from_spec
_spec_from_file = _external.spec_from_file_location
_SourceLoader = _external.SourceFileLoader
_Module = type(sys)
_modules = sys.modules
# Under the name `__main__` a module would run the code that it guards with `if __name__ ==
# "__main__"`.
ESCAPED_MAIN = "_main_"


class Unreachable(Exception):
    """The target cannot be reached; the text says why."""


class Modules:
    """The requested modules, including those whose name was taken."""

    __slots__ = ("by_name",)

    def __init__(self) -> None:
        self.by_name: dict = {}

    def load(self, name: str, path: str | None = None) -> ModuleType:
        """The module of that name, which is imported if necessary."""
        module = self.by_name.get(name)
        if module is None:
            module = self.by_name[name] = _imported(name) if path is None else _placed(name, path)
        return module

    def is_loaded(self, name: str) -> bool:
        """Whether loading the module would run none of its code."""
        return name in self.by_name or name in _modules

    def find(self, reference: str) -> object:
        """The object that `module:qualname` refers to."""
        name, _, qualname = reference.partition(":")
        found = self.load(name)
        return walk(found, qualname) if qualname else found


def _imported(name: str) -> ModuleType:
    import_for_guest(name)
    return _modules[name]


def _placed(name: str, path: str | None) -> ModuleType:
    """The module with the code of that file, by its name if the name leads there."""
    name = ESCAPED_MAIN if name == "__main__" else name
    present = _modules.get(name)
    if present is not None:
        if _same_file(getattr(present, "__file__", None), path):
            return present
        return _from_file(name, path, False)
    if _leads_to(name, path):
        return _imported(name)
    return _from_file(name, path, True)


def _leads_to(name: str, path: str | None) -> bool:
    parent = name.rpartition(".")[0]
    try:
        search = _imported(parent).__path__ if parent else None
        spec = _find_spec(name, search)
    except ModuleNotFoundError as error:
        if error.name is not None and (parent + ".").startswith(str(error.name) + "."):
            return False
        raise
    except (AttributeError, ValueError):
        return False
    return spec is not None and _same_file(spec.origin, path)


def _same_file(one: Any, other: Any) -> bool:
    if type(one) is not str:
        return False
    if one == other:
        return True
    try:
        first, second = stat(one), stat(other)
    except (OSError, ValueError):
        return False
    return first.st_ino == second.st_ino and first.st_dev == second.st_dev


def _from_file(name: str, path: str | None, known: bool) -> ModuleType:
    spec = _spec_from_file(name, path)
    if spec is None:
        spec = _spec_from_file(name, path, loader=_SourceLoader(name, path))
    module = _module_from_spec(spec)
    if known:
        _modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if known:
            _modules.pop(name, None)
        raise
    if not known:
        return module
    module = _modules.get(name, module)
    parent, _, last = name.rpartition(".")
    if parent in _modules:
        setattr(_modules[parent], last, module)
    return module


def walk(subject: object, qualname: str) -> Any:
    """Follows the attributes of a qualified name."""
    for name in qualname.split("."):
        subject = attribute(subject, name)
    return subject


def attribute(subject: object, name: str) -> Any:
    """One attribute; private names of classes are mangled."""
    if name == "<locals>":
        raise Unreachable("it is defined inside a function")
    return getattr(subject, mangled(subject, name))


def mangled(subject: object, name: str) -> str:
    """The mangled name under which a class stores `name`."""
    if name[:2] == "__" and name[-2:] != "__" and issubclass(type(subject), type):
        owner = exact(type.__dict__["__name__"].__get__(subject)).lstrip("_")
        if owner:
            return "_" + owner + name
    return name


def resolve(module: ModuleType, qualname: str, kind: str) -> Any:
    """The object to call; a method is not bound to its receiver yet.

    Methods are taken from the class that defines them, so that no override of a subclass is called.
    """
    if kind == "function" and type(module) is _Module and qualname in module.__dict__:
        return module.__dict__[qualname]
    owner_name, _, name = qualname.rpartition(".")
    owner: Any = walk(module, owner_name) if owner_name else module
    if kind in ("method", "property") and issubclass(type(owner), type):
        found = in_class(owner, mangled(owner, name))
        if found is not None:
            return found
        getattr(owner, name)
        raise Unreachable("only its metaclass has it")
    return attribute(owner, name)


def bind(found: Any, receiver: Any) -> Any:
    """The attribute, bound to the receiver as attribute access would."""
    getter = in_class(type(found), "__get__")
    if getter is None:
        return found
    return getter(found, receiver, type(receiver))


def has_async(module_name: str) -> bool:
    """Whether a module has a function or method that `asyncio` has to run."""
    module = _modules.get(module_name)
    if type(module) is not _Module:
        return False
    return _any_async(module.__dict__, 1)


def _any_async(names: dict, depth: int) -> bool:
    for found in list(names.values()):
        if type(found) is staticmethod or type(found) is classmethod:
            found = found.__func__
        if type(found) is _Function:
            inner = found.__dict__.get("__wrapped__")
            if type(inner) is _Function:
                found = inner
            if found.__code__.co_flags & ASYNC_FLAGS:
                return True
        elif depth and issubclass(type(found), type) and _any_async(dict_of(found), depth - 1):
            return True
    return False


# Code flags of coroutines and asynchronous generators.
ASYNC_FLAGS = 0x80 | 0x200
_Function = type(resolve)
