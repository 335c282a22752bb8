# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Puts the report of a call together: first what needs nothing from the guest, then all of it.

Invariant: the short report is in the mailbox before any method of the guest's is asked.
"""

import sys

from describing import briefly, fully, scalar, simply
from failures import Describer
from guard import Guard
from state import threads_since
from values import STUB_GLOBALS

_sys_names = sys.__dict__
DEFAULT_CAPS = {"repr": 2000, "items": 1000, "depth": 20, "message": 2000, "frames": 50}
# marshal itself gives up at two thousand levels, and each of ours takes two of its.
DEEPEST = 400


def complete(caps, mailbox):
    """Caps that the mailbox and the interpreter can bear, with defaults for those not given."""
    made = dict(DEFAULT_CAPS)
    for name, value in (caps or {}).items():
        if name in made and type(value) is int:
            made[name] = max(0, value)
    made["repr"] = min(made["repr"], mailbox.size // 8)
    made["message"] = min(made["message"], mailbox.size // 32)
    made["depth"] = min(made["depth"], DEEPEST)
    made["frames"] = min(made["frames"], 1000)
    return made


def is_ours(frame_globals):
    """Whether a frame with these globals belongs to the harness."""
    if frame_globals is STUB_GLOBALS:
        return True
    return dict.get(frame_globals, "__builtins__") is __builtins__


def short(outcome, caps, zygote):
    """The report without anything that the guest has to be asked for."""
    state = zygote.state
    audit = zygote.audit
    of_conditions = None if outcome.conditions is None else outcome.conditions.report()
    notes = outcome.notes[:]
    value = exception = items = None
    more = False
    if outcome.has_result:
        value = briefly(outcome.result)
    if outcome.error is not None:
        exception = Describer(caps, None, notes, is_ours, zygote.repo).describe(outcome.error)
    if outcome.collected is not None:
        items = len(outcome.collected.items)
        more = outcome.collected.more
    report = {
        "kind": outcome.kind,
        "stage": outcome.stage,
        "wall_ns": int(outcome.wall),
        "user_ns": max(0, round(outcome.user * 1e9)),
        "system_ns": max(0, round(outcome.system * 1e9)),
        "value": value,
        "exception": exception,
        "items": items,
        "more": more,
        "threads_left": threads_since(state.threads, state.own_threads),
        "descriptors_left": state.descriptors.opened_since(),
        "changed": state.changed(zygote.mode.limit, outcome, audit.environ),
        "attempts": audit.attempts,
        "notes": notes,
    }
    if more:
        report["paused_at"] = outcome.collected.paused_at
    if of_conditions is not None:
        report.update(of_conditions)
    return report


def is_simple(outcome):
    """Whether nothing of the guest's is asked to describe the result."""
    return outcome.has_result and outcome.error is None and scalar(outcome.result)


def lengthen(report, outcome, caps, repo):
    """Adds the values and messages that the guest has to be asked for."""
    if outcome.error is None and not outcome.has_result:
        return
    if is_simple(outcome):
        simply(report["value"], outcome.result)
        return
    guard = Guard()
    outcome.held.append(guard)
    try:
        notes = outcome.notes[:]
        if outcome.has_result:
            fully(report["value"], outcome.result, caps, guard, notes)
        if outcome.error is not None:
            describer = Describer(caps, guard, notes, is_ours, repo)
            report["exception"] = describer.describe(outcome.error)
        report["notes"] = notes
    finally:
        if guard.armed:
            guard.disarm()


def flush(own_streams, held):
    """Lets the guest's prints appear; streams that it put in place may be anything."""
    for name, own in own_streams:
        stream = _sys_names.get(name)
        if stream is not own and stream is not None:
            guard = Guard()
            held.append(guard)
            guard.ask(_flushed, stream)
            guard.disarm()
        try:
            type(own).flush(own)
        except BaseException as error:
            held.append(error)


def _flushed(stream):
    stream.flush()
