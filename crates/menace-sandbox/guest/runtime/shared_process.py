"""Calls several sections one after the other in one process (a shared-process run).

Loaded by the first call that has steps. Each step goes through the stages of a call, in the state
that the steps before it left. Invariants: the report of a step is in the mailbox before the next
one begins; and its result or exception is released by then, in guest mode.
"""

from __future__ import annotations

import sys
from _signal import ITIMER_REAL, getitimer, setitimer
from _tracemalloc import get_traced_memory, start
from gc import collect
from time import perf_counter_ns

from describe.exceptions import Describer
from describe.report import is_of_harness
from describe.result import describe_scalar, describe_type, describe_value, is_scalar
from describe.time_budget import GUEST_SECONDS, TimeBudget
from runtime.call import CallProgress, perform
from runtime.child import run
from runtime.step_entries import StepEntries

if False:  # for type checkers only: nothing is loaded at run time
    from runtime.modules import Modules
    from runtime.zygote import Zygote
    from state.mutable_defaults import MutableDefaults

STEP_DESCRIPTION_LIMITS = {"repr": 500, "message": 1000, "frames": 20}
MAX_NOTES = 64
RESERVE = 8 << 20
clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
MAX_MEASURED_REQUESTS = 8


def run_steps(zygote: Zygote, progress: CallProgress, call: dict) -> None:
    """Makes all steps; `progress` becomes that of the whole call."""
    steps = call["steps"]
    progress.stage = "call"
    progress.defaults = Defaults()
    progress.notes[:0] = zygote.notes
    shared_run = SharedProcessRun(zygote, progress, call, len(steps))
    for number, step in enumerate(steps):
        if not shared_run.entries.begin(number):
            left = str(len(steps) - number)
            # At the first place, because not all notes are kept.
            progress.notes.insert(0, left + " steps were not made: no room for their reports")
            break
        shared_run.run_step(number, step)
        # Frees the arguments, which are no memory that the step retains.
        steps[number] = None
    progress.result_kind = "returned"


class Defaults:
    """The mutable defaults of all called functions, as they were before the first call."""

    __slots__ = ("by_name",)

    def __init__(self) -> None:
        self.by_name: dict = {}

    def add(self, name: str, defaults: MutableDefaults | None) -> None:
        """Adds those of a function, unless they were added before."""
        if defaults is not None:
            self.by_name.setdefault(name, defaults)

    def changed(self) -> list:
        """Function and parameter of each default that has changed."""
        return [
            name + "." + parameter
            for name, defaults in self.by_name.items()
            for parameter in defaults.changed()
        ]


class SharedProcessRun:
    """The state that the steps of one call share."""

    def __init__(self, zygote: Zygote, progress: CallProgress, call: dict, count: int) -> None:
        self.zygote = zygote
        self.progress = progress
        self.description_limits = dict(call["description_limits"])
        for name, most in STEP_DESCRIPTION_LIMITS.items():
            self.description_limits[name] = min(self.description_limits[name], most)
        self.call_extras = {"description_limits": call["description_limits"]}
        if "faults" in call:
            self.call_extras["faults"] = call["faults"]
        self.coverage = progress.conditions.coverage
        # Whether the memory that Python holds is measured before each step.
        self.measures_memory = "measure_memory" in call
        if self.measures_memory:
            upstream = progress.conditions.upstream
            if upstream is not None:
                # Recorded requests are kept few: they are no memory that the call retains.
                upstream.most = MAX_MEASURED_REQUESTS
            start()
        self.entries = StepEntries(zygote.mailbox, count)
        # Nanoseconds that the guest's methods took to describe results so far.
        self.described_ns = 0

    def run_step(self, number: int, call: dict) -> None:
        """Makes one step, from its import to releasing what it returned."""
        zygote, progress = self.zygote, self.progress
        call.update(self.call_extras)
        step = CallProgress()
        if self.measures_memory:
            step.held_bytes = get_traced_memory()[0]
        if self.coverage is not None:
            step.tracer = progress.tracer
            if number:
                self.coverage.resume(zygote.guest_mode.tracer)
        run(zygote, step, perform, call)
        tracer = zygote.guest_mode.tracer
        for part in ("wall", "user", "system", "harness_modules"):
            setattr(progress, part, getattr(progress, part) + getattr(step, part))
        progress.defaults.add(call["target"]["qualname"], step.defaults)
        self.report(number, step)
        for note in step.notes[len(zygote.notes) :]:
            if len(progress.notes) < MAX_NOTES:
                progress.note("step " + str(number + 1) + ": " + note)
        self.entries.mark_releasing(True)
        released = {"step": step, "measures_memory": self.measures_memory}
        step = None
        run(zygote, CallProgress(), _release, released)
        self.entries.mark_releasing(False)
        zygote.guest_mode.tracer = tracer
        self.restore_reserve()

    def report(self, number: int, step: CallProgress) -> None:
        """Writes the step's report: first without the guest's methods, then completely."""
        is_reported = False
        try:
            value = exception = None
            if step.has_result:
                value = describe_type(step.result)
            if step.error is not None:
                describer = Describer(
                    self.description_limits, None, [], is_of_harness, self.zygote.repo
                )
                exception = describer.describe(step.error)
            entry = _entry(number, step, value, exception)
            is_simple = step.error is None and (not step.has_result or is_scalar(step.result))
            if is_simple and step.has_result:
                describe_scalar(value, step.result)
            self.entries.post(entry)
            is_reported = True
            if not is_simple:
                self.describe_with_guest(entry, step)
                self.entries.replace(entry)
        except BaseException as error:
            step.kept_alive.append(error)
            self.zygote.reserve = None
            step.note("what came out of it could not be described")
            if not is_reported:
                self.entries.post(_entry(number, step, None, None))

    def describe_with_guest(self, entry: dict, step: CallProgress) -> None:
        """Adds the parts that need the guest's methods; all steps share the time for them."""
        budget = TimeBudget()
        budget.expired = self.described_ns >= GUEST_SECONDS * 1e9
        step.kept_alive.append(budget)
        timer = getitimer(ITIMER_REAL)
        began = perf_counter_ns()
        try:
            if step.has_result:
                describe_value(
                    entry["value"], step.result, self.description_limits, budget, step.notes
                )
                # Only small results get a copy.
                entry["value"]["value"] = None
            if step.error is not None:
                describer = Describer(
                    self.description_limits, budget, step.notes, is_of_harness, self.zygote.repo
                )
                entry["exception"] = describer.describe(step.error)
        finally:
            if budget.armed:
                budget.disarm()
                setitimer(ITIMER_REAL, *timer)
                self.described_ns += perf_counter_ns() - began

    def restore_reserve(self) -> None:
        """Allocates the memory reserve again, if the step that used up the memory has freed it."""
        if self.zygote.reserve is None:
            try:
                self.zygote.reserve = bytes(RESERVE)
            except MemoryError:
                pass


def _entry(number: int, step: CallProgress, value: dict | None, exception: dict | None) -> dict:
    items = None if step.collected is None else len(step.collected.items)
    return {
        "step": number,
        "kind": step.result_kind,
        "stage": step.stage,
        "wall_ns": int(step.wall),
        "user_ns": max(0, round(step.user * 1e9)),
        "system_ns": max(0, round(step.system * 1e9)),
        "value": value,
        "exception": exception,
        "items": items,
        "more": items is not None and step.collected.more,
        "held_bytes": step.held_bytes,
    }


def _release(_progress: CallProgress, _modules: Modules, released: dict) -> None:
    """Releases a step's results, in guest mode, because that runs the guest's finalizers."""
    released["step"].__dict__.clear()
    if released["measures_memory"]:
        collect()
        # Python caches thousands of attribute names that were looked up: `getattr(it, "do_" +
        # what)`.
        clear_caches()
