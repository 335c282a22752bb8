"""The state of the interpreter that a call can change: recorded before, compared after.

Invariant: comparing runs none of the guest's code, and costs next to nothing for a call that
changes nothing; even reading an object may make the kernel copy a page in a forked process.
"""

from __future__ import annotations

import os
import sys
from _signal import getsignal
from _thread import _count, get_ident
from posix import chdir, getcwd
from sys import _current_frames

from describe.introspect import exact
from state.descriptors import Descriptors

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import CallProgress

_modules = sys.modules
_os_names = os.__dict__
_environ: Any = os.environ
_SIGNALS = range(1, 32)
MAX_NAMES = 256
MAX_THREADS = 64


class InterpreterSnapshot:
    """The recorded state of the interpreter."""

    __slots__ = (
        "cwd",
        "descriptors",
        "environ",
        "handlers",
        "harness_threads",
        "modules",
        "recursion_limit",
        "threads",
    )

    def __init__(self, recursion_limit: int, not_counted: tuple = ()) -> None:
        self.environ = dict(_environ._data)
        self.modules = len(_modules)
        self.handlers = [getsignal(number) for number in _SIGNALS]
        self.recursion_limit = recursion_limit
        self.descriptors = Descriptors(not_counted)
        self.threads = _count()
        self.harness_threads = ()
        self.cwd = where()

    def changed(self, recursion_limit: int, progress: CallProgress, environ_touched: bool) -> dict:
        """The report's `state_changes`.

        `recursion_limit` is the guest's; the environment is compared only after an audit event for
        it.
        """
        now = _os_names.get("environ")
        return {
            "environ": self._environ(now) if environ_touched or now is not _environ else [],
            "cwd": self._moved(),
            "modules": max(0, len(_modules) - self.modules - progress.harness_modules),
            "signals": self._signals() if "signal" in _modules else [],
            "recursion_limit": None if recursion_limit == self.recursion_limit else recursion_limit,
            "defaults": [] if progress.defaults is None else progress.defaults.changed(),
        }

    def _environ(self, now: object) -> list:
        data = _environ.__dict__.get("_data") if now is _environ else None
        if type(data) is not dict:
            return ["os.environ"]
        before = self.environ
        names = [name for name in data if not _same(before.get(name), data[name])]
        names += [name for name in before if name not in data]
        return sorted(_decoded(name) for name in names)[:MAX_NAMES]

    def _moved(self) -> str | None:
        """The present working directory if it has changed; changes it back."""
        now = where()
        if now == self.cwd:
            return None
        # The recorded path may lead through links to the same directory.
        try:
            chdir(self.cwd)
        except OSError:
            return now
        return None if now == where() else now

    def _signals(self) -> list:
        before = self.handlers
        return [number for number in _SIGNALS if getsignal(number) is not before[number - 1]]


def _same(before: object, now: object) -> bool:
    return now is before or type(now) is bytes and type(before) is bytes and before == now


def _decoded(name: object) -> str:
    return name.decode("utf-8", "surrogateescape") if type(name) is bytes else "?"


def where() -> str:
    """The working directory, or a word when it was removed."""
    try:
        return getcwd()
    except OSError:
        return "(removed)"


def thread_names(harness_threads: tuple = ()) -> list:
    """The names of all threads but this one and the harness's."""
    module = _modules.get("threading")
    known = getattr(module, "__dict__", {}).get("_active")
    own = get_ident()
    return sorted(
        _name_of(known.get(ident)) if type(known) is dict else "?"
        for ident in list(_current_frames())[:MAX_THREADS]
        if ident != own and ident not in harness_threads
    )


def threads_since(count: int, harness_threads: tuple = ()) -> list:
    """The names of threads, without the harness's, if there are more than `count`."""
    more = _count() - count - len(harness_threads)
    if more <= 0:
        return []
    names = thread_names(harness_threads)
    # A thread that has not started to run has no frame, and so no name here.
    return names + ["?"] * (min(more, MAX_THREADS) - len(names))


def _name_of(thread: object) -> str:
    try:
        return exact(object.__getattribute__(thread, "_name"))[:200]
    except Exception:
        return "?"
