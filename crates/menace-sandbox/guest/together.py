# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Makes several sections one after the other in the process of one call.

Loaded by the first call that has steps. Each step goes through the stages of a call, in the state
that the ones before it left. Invariants: a step is told before the next one begins; and what it
returned or raised is let go of by then, as its caller would, where the guest's code may run.
"""

import sys
from _signal import ITIMER_REAL, getitimer, setitimer
from _tracemalloc import get_traced_memory, start
from gc import collect
from time import perf_counter_ns

from calling import Outcome, perform
from child import run
from describing import briefly, fully, scalar, simply
from failures import Describer
from guard import SECONDS, Guard
from ledger import Ledger
from reporting import is_ours

LONGEST = {"repr": 500, "message": 1000, "frames": 20}
MOST_NOTES = 64
RESERVE = 8 << 20
clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
MOST_WEIGHED_REQUESTS = 8


def go_through(zygote, outcome, call):
    """All steps; `outcome` becomes that of the whole."""
    steps = call["together"]
    outcome.stage = "call"
    outcome.watched = Defaults()
    outcome.notes[:0] = zygote.notes
    together = Together(zygote, outcome, call, len(steps))
    for number, step in enumerate(steps):
        if not together.ledger.begin(number):
            left = str(len(steps) - number)
            # First of all, because not all notes are kept.
            outcome.notes.insert(0, left + " steps were not made: no room for their reports")
            break
        together.make(number, step)
        # What it was asked with is not what it keeps.
        steps[number] = None
    outcome.kind = "returned"


class Defaults:
    """The mutable defaults of all functions that were called, as they were."""

    __slots__ = ("by_name",)

    def __init__(self):
        self.by_name = {}

    def add(self, name, watched):
        """The first time counts."""
        if watched is not None:
            self.by_name.setdefault(name, watched)

    def changed(self):
        """Function and parameter of each that is not what it was."""
        return [
            name + "." + parameter
            for name, watched in self.by_name.items()
            for parameter in watched.changed()
        ]


class Together:
    """What the steps of one call have in common."""

    def __init__(self, zygote, outcome, call, count):
        self.zygote = zygote
        self.outcome = outcome
        self.caps = dict(call["caps"])
        for name, most in LONGEST.items():
            self.caps[name] = min(self.caps[name], most)
        self.given = {"caps": call["caps"]}
        if "faults" in call:
            self.given["faults"] = call["faults"]
        self.coverage = outcome.conditions.coverage
        # What Python holds is wanted before each step.
        self.weighs = "weigh" in call
        if self.weighs:
            upstream = outcome.conditions.upstream
            if upstream is not None:
                # What we note of each call is nothing that the call keeps.
                upstream.most = MOST_WEIGHED_REQUESTS
            start()
        self.ledger = Ledger(zygote.mailbox, count)
        # Nanoseconds that the guest's methods took to describe what came out of the steps.
        self.asked = 0

    def make(self, number, call):
        """One step, from its import to the end of what it returned."""
        zygote, outcome = self.zygote, self.outcome
        call.update(self.given)
        step = Outcome()
        if self.weighs:
            step.held_bytes = get_traced_memory()[0]
        if self.coverage is not None:
            step.tracer = outcome.tracer
            if number:
                self.coverage.resume(zygote.mode.tracer)
        run(zygote, step, perform, call)
        tracer = zygote.mode.tracer
        for part in ("wall", "user", "system", "own_modules"):
            setattr(outcome, part, getattr(outcome, part) + getattr(step, part))
        outcome.watched.add(call["target"]["qualname"], step.watched)
        self.tell(number, step)
        for note in step.notes[len(zygote.notes) :]:
            if len(outcome.notes) < MOST_NOTES:
                outcome.note("step " + str(number + 1) + ": " + note)
        self.ledger.leave(True)
        gone = {"step": step, "weighs": self.weighs}
        step = None
        run(zygote, Outcome(), _let_go, gone)
        self.ledger.leave(False)
        zygote.mode.tracer = tracer
        self.restore_reserve()

    def tell(self, number, step):
        """Adds the report: first what needs nothing from the guest, then all of it."""
        told = False
        try:
            value = exception = None
            if step.has_result:
                value = briefly(step.result)
            if step.error is not None:
                describer = Describer(self.caps, None, [], is_ours, self.zygote.repo)
                exception = describer.describe(step.error)
            entry = _entry(number, step, value, exception)
            is_simple = step.error is None and (not step.has_result or scalar(step.result))
            if is_simple and step.has_result:
                simply(value, step.result)
            self.ledger.post(entry)
            told = True
            if not is_simple:
                self.ask(entry, step)
                self.ledger.replace(entry)
        except BaseException as error:
            step.held.append(error)
            self.zygote.reserve = None
            step.note("what came out of it could not be described")
            if not told:
                self.ledger.post(_entry(number, step, None, None))

    def ask(self, entry, step):
        """Adds what the guest has to be asked for; all steps share the time for it."""
        guard = Guard()
        guard.expired = self.asked >= SECONDS * 1e9
        step.held.append(guard)
        timer = getitimer(ITIMER_REAL)
        began = perf_counter_ns()
        try:
            if step.has_result:
                fully(entry["value"], step.result, self.caps, guard, step.notes)
                # Nobody asks for more than what is small enough to be seen.
                entry["value"]["value"] = None
            if step.error is not None:
                describer = Describer(self.caps, guard, step.notes, is_ours, self.zygote.repo)
                entry["exception"] = describer.describe(step.error)
        finally:
            if guard.armed:
                guard.disarm()
                setitimer(ITIMER_REAL, *timer)
                self.asked += perf_counter_ns() - began

    def restore_reserve(self):
        """A step that used up the memory has perhaps let go of it."""
        if self.zygote.reserve is None:
            try:
                self.zygote.reserve = bytes(RESERVE)
            except MemoryError:
                pass


def _entry(number, step, value, exception):
    items = None if step.collected is None else len(step.collected.items)
    return {
        "step": number,
        "kind": step.kind,
        "stage": step.stage,
        "wall_ns": int(step.wall),
        "user_ns": max(0, round(step.user * 1e9)),
        "system_ns": max(0, round(step.system * 1e9)),
        "value": value,
        "exception": exception,
        "items": items,
        "more": items is not None and step.collected.more,
        "held": step.held_bytes,
    }


def _let_go(_outcome, _modules, gone):
    """On the guest's side of the border, because it runs the guest's finalizers."""
    gone["step"].__dict__.clear()
    if gone["weighs"]:
        collect()
        # Python remembers thousands of names that were looked up: `getattr(it, "do_" + what)`.
        clear_caches()
