"""Records the steps from line to line with `sys.settrace`, below Python 3.12.

A tracer that the guest sets with `sys.settrace` runs beside this one. One that it sets otherwise
(with a reference imported before, or in C) replaces it; so does a stack overflow, after which
Python stops tracing.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from types import FrameType, ModuleType
    from typing import Any

    from coverage.recorder import CoverageRecorder
    from runtime.import_hooks import ImportHooks

_settrace = sys.settrace


class Tracer:
    """The function for `sys.settrace`, and that of the guest, which runs beside it."""

    __slots__ = ("enter", "guests", "in_place")

    def __init__(self, coverage: CoverageRecorder) -> None:
        self.enter = self.in_place = _entering(coverage.reached)
        self.guests: Callable | None = None

    def begin(self, import_hooks: ImportHooks) -> Callable:
        """Traces this thread, and those that `threading` starts."""

        def trace_threads(threading: ModuleType) -> None:
            threading.__dict__["_trace_hook"] = self.enter

        def settrace(function: Callable) -> None:
            self.guests = function
            self.in_place = self.enter if function is None else both(self.enter, function)
            _settrace(self.in_place)

        def gettrace() -> Any:
            return self.guests

        sys.settrace, sys.gettrace = settrace, gettrace
        import_hooks.add("threading", trace_threads)
        _settrace(self.enter)
        return self.enter

    def resume(self) -> None:
        """Sets the last tracer again."""
        _settrace(self.in_place)

    def was_kept(self, tracer: object) -> bool:
        """Whether this tracer is still set."""
        return tracer is self.in_place

    def finish(self) -> None:
        """Nothing is left to do: steps are recorded as they happen."""


def _entering(reached: Callable) -> Callable:
    known: dict = {}

    def enter(frame: FrameType, _event: str, _arg: object) -> Callable | None:
        file = frame.f_code.co_filename
        try:
            steps = known[file]
        except KeyError:
            steps = known[file] = reached(file)
        if steps is None:
            return None
        last = 0

        def step(frame: FrameType, event: str, _arg: object) -> Callable:
            nonlocal last
            if event == "line":
                line = frame.f_lineno
                steps.add((last, line))
                last = line
            return step

        return step

    return enter


def both(first: Callable, second: Callable) -> Callable:
    """A tracer that calls two others."""

    def enter(frame: FrameType, event: str, arg: object) -> Callable | None:
        one = first(frame, event, arg)
        other = second(frame, event, arg)
        if one is None or other is None:
            return one or other

        def step(frame: FrameType, event: str, arg: object) -> Callable:
            nonlocal one, other
            if one is not None:
                one = one(frame, event, arg)
            if other is not None:
                other = other(frame, event, arg)
            return step

        return step

    return enter
