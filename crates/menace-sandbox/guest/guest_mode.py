"""The border between the harness's code and the guest's.

On the guest's side: its garbage collection, its signal mask, its recursion limit, and the audit
hook listening. On ours: no collection, no signals, no tracing, a recursion limit that suffices.
"""

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

_collect, _stop_collecting, _collects = gc.enable, gc.disable, gc.isenabled
_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit
_monitoring = getattr(sys, "monitoring", None)
get_tool = getattr(_monitoring, "get_tool", None)
set_events = getattr(_monitoring, "set_events", None)
ENOUGH = 1000
# Those that report a fault of the process itself stay as they are.
FAULTS = (SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP)
# By which the init asks where the code is; `whereabouts` answers.
ASKED = SIGRTMAX
ALL = frozenset(valid_signals()).difference((*FAULTS, ASKED))


class GuestMode:
    """What the guest had when it was last left."""

    __slots__ = ("audit", "collects", "limit", "mask", "tracer")

    def __init__(self):
        self.collects = _collects()
        self.limit = _getlimit()
        self.audit = self.tracer = None
        _stop_collecting()
        self.mask = pthread_sigmask(SIG_SETMASK, ALL)

    def enter(self):
        """From here on the guest's code may run."""
        if self.limit != _getlimit():
            _setlimit(self.limit)
        pthread_sigmask(SIG_SETMASK, self.mask)
        if self.collects:
            _collect()
        self.audit.listening = True

    def leave(self):
        """From here on only the harness's code runs; its signals have been blocked before."""
        self.audit.listening = False
        self.limit = _getlimit()
        if self.limit < ENOUGH:
            _setlimit(ENOUGH)
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
