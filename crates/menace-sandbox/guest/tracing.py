"""Watches the steps from line to line with `sys.settrace`, below Python 3.12.

A tracer that the guest sets runs beside ours. One that it sets past `sys.settrace` (imported before,
or in C) takes our place; so does the end of the stack, where Python gives up tracing.
"""

import sys

_settrace = sys.settrace


class Tracer:
    """The function for `sys.settrace`, and the guest's beside it."""

    __slots__ = ("enter", "guests", "in_place")

    def __init__(self, coverage):
        self.enter = self.in_place = _entering(coverage.reached)
        self.guests = None

    def begin(self, afterwards):
        """Traces this thread, and those that `threading` starts."""

        def trace_threads(threading):
            threading.__dict__["_trace_hook"] = self.enter

        def settrace(function):
            self.guests = function
            self.in_place = self.enter if function is None else both(self.enter, function)
            _settrace(self.in_place)

        def gettrace():
            return self.guests

        sys.settrace, sys.gettrace = settrace, gettrace
        afterwards.add("threading", trace_threads)
        _settrace(self.enter)
        return self.enter

    def resume(self):
        """Sets again what was set last."""
        _settrace(self.in_place)

    def was_kept(self, tracer):
        """Whether this is still what was set."""
        return tracer is self.in_place

    def finish(self):
        """Everything is there already."""


def _entering(reached):
    known = {}

    def enter(frame, _event, _arg):
        file = frame.f_code.co_filename
        try:
            steps = known[file]
        except KeyError:
            steps = known[file] = reached(file)
        if steps is None:
            return None
        last = 0

        def step(frame, event, _arg):
            nonlocal last
            if event == "line":
                line = frame.f_lineno
                steps.add((last, line))
                last = line
            return step

        return step

    return enter


def both(first, second):
    """A tracer that lets two others trace."""

    def enter(frame, event, arg):
        one = first(frame, event, arg)
        other = second(frame, event, arg)
        if one is None or other is None:
            return one or other

        def step(frame, event, arg):
            nonlocal one, other
            if one is not None:
                one = one(frame, event, arg)
            if other is not None:
                other = other(frame, event, arg)
            return step

        return step

    return enter
