"""Switches the interpreter between the harness's code and the guest's.

Guest mode has the guest's garbage collection, signal mask and recursion limit, and an active audit
hook. Harness mode has no collection, no signals, no tracing, and a sufficient recursion limit.
"""

from __future__ import annotations

import gc
import sys
from _signal import (
    SIG_SETMASK,
    SIGABRT,
    SIGBUS,
    SIGFPE,
    SIGILL,
    SIGRTMAX,
    SIGSEGV,
    SIGSYS,
    SIGTRAP,
    pthread_sigmask,
    valid_signals,
)

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable

    from state.audit import Audit

_collect, _stop_collecting, _collects = gc.enable, gc.disable, gc.isenabled
_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit
_monitoring = getattr(sys, "monitoring", None)
get_tool = getattr(_monitoring, "get_tool", None)
set_events = getattr(_monitoring, "set_events", None)
MIN_RECURSION_LIMIT = 1000
# Signals that report a crash are never blocked.
CRASH_SIGNALS = (SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP)
# The signal with which init requests a stack dump; `stack_sampler` installs its handler.
STACK_REQUEST = SIGRTMAX
ALL = frozenset(valid_signals()).difference((*CRASH_SIGNALS, STACK_REQUEST))


class GuestMode:
    """The guest's settings when guest mode was last left."""

    __slots__ = ("audit", "collects", "mask", "recursion_limit", "tracer")

    def __init__(self) -> None:
        self.collects = _collects()
        self.recursion_limit = _getlimit()
        self.audit: Audit | None = None
        self.tracer: Callable | None = None
        _stop_collecting()
        self.mask = pthread_sigmask(SIG_SETMASK, ALL)

    def enter(self) -> None:
        """Switches to guest mode."""
        if self.recursion_limit != _getlimit():
            _setlimit(self.recursion_limit)
        pthread_sigmask(SIG_SETMASK, self.mask)
        if self.collects:
            _collect()
        self.audit.listening = True

    def leave(self) -> None:
        """Switches to harness mode; signals have been blocked before."""
        self.audit.listening = False
        self.recursion_limit = _getlimit()
        if self.recursion_limit < MIN_RECURSION_LIMIT:
            _setlimit(MIN_RECURSION_LIMIT)
        self.collects = _collects()
        _stop_collecting()
        self.tracer = tracer = _gettrace()
        if tracer is not None:
            _settrace(None)
        if _getprofile() is not None:
            _setprofile(None)
        if get_tool is not None:
            for tool in range(6):
                if get_tool(tool) is not None:
                    set_events(tool, 0)
