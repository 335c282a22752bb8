"""Keeps the functions that an import registered for forks out of the forks of the zygote.

`os.register_at_fork` cannot be undone, and a registered function can look like any other. So the
interpreter's own three lists of them are found once, before anything of the guest's is imported.
After the import they are emptied: a fork of the zygote runs none of the guest's code. The process
of each call puts them back, and runs them as what they are: code of the guest, under the limits.
Invariant: before that, none of the registered functions is called, compared or printed.
"""

from __future__ import annotations

import sys
from _thread import RLock, allocate_lock
from gc import get_referrers
from posix import register_at_fork

from describe.introspect import exact, full_name

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import CallProgress

MAX_NAMED = 8
# What modules of the standard library register, nearly each import some of it.
LIBRARY = {
    "asyncio.events": ("on_fork",),
    "logging": (
        "_acquireLock",
        "_releaseLock",
        "_prepareFork",
        "_afterFork",
        "_after_at_fork_child_reinit_locks",
    ),
    "random": ("Random.seed",),
    "threading": ("_after_fork",),
}
_modules = sys.modules
Module = type(sys)
Builtin: Any = type(len)
Function = type(lambda: None)
Method = type(full_name.__get__(0))
LOCKS = (type(allocate_lock()), type(RLock()))


class ForkHooks:
    """The interpreter's lists, and what the import has put into them."""

    __slots__ = ("are_taken", "foreign", "lists", "registered", "trusted")

    def __init__(self) -> None:
        self.lists = _find_lists()
        # Registered by the interpreter's own installation, before anything of the guest's ran.
        self.trusted = [hook for one in self.lists for hook in one]
        self.are_taken = False
        # Of each list, what was in it after the import.
        self.registered: tuple = ((), (), ())
        # Those that are not the standard library's; what they do to the harness is looked for.
        self.foreign: list = []

    def take(self) -> None:
        """Empties the lists, once the import has ended."""
        self.are_taken = True
        self.registered = tuple([tuple(one) for one in self.lists])
        for one in self.lists:
            one.clear()
        added = [hook for hooks in self.registered for hook in hooks if not self._is_trusted(hook)]
        self.foreign = [hook for hook in added if not _is_of_library(hook)]

    def _is_trusted(self, hook: object) -> bool:
        return any(hook is trusted for trusted in self.trusted)

    def describe_foreign(self) -> str:
        """The names of the first few, in the order of their lists."""
        return ", ".join([_name_of(hook) for hook in self.foreign[:MAX_NAMED]])

    def are_back(self) -> bool:
        """Whether the lists were filled again since the import, which a thread of it may do."""
        before, in_child, in_parent = self.lists
        return self.are_taken and len(before) + len(in_child) + len(in_parent) > 0

    def restore(self) -> None:
        """Puts the functions back, for forks that the guest makes."""
        for one, registered in zip(self.lists, self.registered):
            if registered:
                one[:] = registered

    def run(self, progress: CallProgress, _modules: object, _call: object) -> None:
        """Runs what a fork would have run in the new process, and before it; in guest mode."""
        self.restore()
        before, in_child, _ = self.registered
        for hook in (*reversed(before), *in_child):
            try:
                hook()
            except BaseException as error:
                # Python goes on in this case as well.
                progress.kept_alive.append(error)
                progress.note("code that runs in each fork raised " + full_name(type(error)))


def _find_lists() -> tuple:
    """The interpreter's lists: before a fork, after it in the child, after it in the parent."""
    marks = _make_mark(), _make_mark(), _make_mark()
    register_at_fork(before=marks[0], after_in_child=marks[1], after_in_parent=marks[2])
    holders = [one for one in get_referrers(*marks) if type(one) is list and len(one) > 0]
    lists = [one for mark in marks for one in holders if one[-1] is mark]
    if len(lists) != 3:
        raise RuntimeError("the interpreter's lists of fork hooks were not found")
    for one in lists:
        one.pop()
    return tuple(lists)


def _make_mark() -> Any:
    """A function that is no other."""
    return lambda: None


def _is_of_library(hook: Any) -> bool:
    """Whether it is what a module of the standard library registers, whatever it says it is."""
    if type(hook) is Builtin:
        # Methods of locks: other functions in C may call what the guest has given them.
        cls = type(getattr(hook, "__self__", None))
        return cls is LOCKS[0] or cls is LOCKS[1]
    function = _function_of(hook)
    if function is None:
        return False
    for module, names in LIBRARY.items():
        loaded = _modules.get(module)
        if type(loaded) is Module and vars(loaded) is function.__globals__:
            return exact(function.__qualname__) in names
    return False


def _function_of(hook: Any) -> Any:
    """The function in Python that it is, or is a method of."""
    if type(hook) is Method:
        hook = hook.__func__
    return hook if type(hook) is Function else None


def _name_of(hook: Any) -> str:
    """The full name of a function; of anything else, that of its type."""
    function = _function_of(hook)
    if function is None:
        return full_name(type(hook))
    return (exact(function.__module__) or "?") + "." + (exact(function.__qualname__) or "?")
