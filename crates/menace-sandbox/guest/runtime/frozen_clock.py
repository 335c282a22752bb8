"""Freezes the guest's wall clock: `time` and `datetime` always return the same moment.

`datetime` keeps its own classes: their `now` and `utcnow` are replaced in place, so that types,
pickles and `isinstance` are unchanged; `today` calls `time.time` by itself. Clocks that measure
durations (`monotonic`, `perf_counter`, `process_time`) run on.
"""

from __future__ import annotations

import time
from gc import get_referents
from sys import _clear_type_cache as _forget_lookups

if False:  # for type checkers only: nothing is loaded at run time
    from types import ModuleType

    from runtime.import_hooks import ImportHooks

_real = dict(time.__dict__)
# Replaced methods are kept alive: the interpreter's caches may still point to them.
_replaced: list = []


def freeze(moment: float, import_hooks: ImportHooks) -> None:
    """Replaces the functions of `time`, and those of `datetime` when it is imported."""
    nanoseconds = round(moment * 1e9)

    def frozen_time():
        return moment

    def frozen_time_ns():
        return nanoseconds

    def localtime(secs=None):
        return _real["localtime"](moment if secs is None else secs)

    def gmtime(secs=None):
        return _real["gmtime"](moment if secs is None else secs)

    def ctime(secs=None):
        return _real["ctime"](moment if secs is None else secs)

    def asctime(*when):
        return _real["asctime"](*(when or (localtime(),)))

    def strftime(format, *when):
        return _real["strftime"](format, *(when or (localtime(),)))

    def clock_gettime(clock):
        return moment if clock == _real["CLOCK_REALTIME"] else _real["clock_gettime"](clock)

    def clock_gettime_ns(clock):
        if clock == _real["CLOCK_REALTIME"]:
            return nanoseconds
        return _real["clock_gettime_ns"](clock)

    replacements = (frozen_time, frozen_time_ns, localtime, gmtime, ctime, asctime, strftime)
    for function in replacements + (clock_gettime, clock_gettime_ns):
        name = function.__name__.replace("frozen_", "")
        if name in _real:
            function.__name__ = function.__qualname__ = name
            function.__module__ = "time"
            setattr(time, name, function)
    import_hooks.add("datetime", lambda module: _freeze_datetime(module, moment))


def _freeze_datetime(module: ModuleType, moment: float) -> None:
    """Puts frozen methods into the dictionary of the class, which is reached through `gc` only."""
    cls = module.datetime
    utc = module.timezone.utc

    def now(cls, tz=None):
        return cls.fromtimestamp(moment, tz)

    def utcnow(cls):
        return cls.fromtimestamp(moment, utc).replace(tzinfo=None)

    for names in get_referents(cls.__dict__):
        if type(names) is dict and "utcnow" in names:
            for method in (now, utcnow):
                method.__qualname__ = "datetime." + method.__name__
                method.__module__ = "datetime"
                _replaced.append(names.get(method.__name__))
                names[method.__name__] = classmethod(method)
    # The interpreter caches lookups of methods that were called before.
    _forget_lookups()
