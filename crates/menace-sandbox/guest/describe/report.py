"""Puts the report of a call together: first what needs nothing from the guest, then all of it.

Invariant: the short report is in the mailbox before any method of the guest's is asked.
"""

from __future__ import annotations

import sys

from arguments.builder import STUB_GLOBALS
from describe.exceptions import Describer
from describe.guard import Guard
from describe.result import describe_scalar, describe_type, describe_value, is_scalar
from state.snapshot import threads_since

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import Outcome
    from runtime.mailbox import Mailbox
    from runtime.zygote import Zygote

_sys_names = sys.__dict__
DEFAULT_CAPS: dict = {"repr": 2000, "items": 1000, "depth": 20, "message": 2000, "frames": 50}
# marshal itself gives up at two thousand levels, and each of ours takes two of its.
MAX_DEPTH = 400


def complete(caps: dict, mailbox: Mailbox) -> dict:
    """Caps that the mailbox and the interpreter can bear, with defaults for those not given."""
    made = dict(DEFAULT_CAPS)
    for name, value in (caps or {}).items():
        if name in made and type(value) is int:
            made[name] = max(0, value)
    made["repr"] = min(made["repr"], mailbox.size // 8)
    made["message"] = min(made["message"], mailbox.size // 32)
    made["depth"] = min(made["depth"], MAX_DEPTH)
    made["frames"] = min(made["frames"], 1000)
    return made


def is_ours(frame_globals: dict) -> bool:
    """Whether a frame with these globals belongs to the harness."""
    if frame_globals is STUB_GLOBALS:
        return True
    return dict.get(frame_globals, "__builtins__") is __builtins__


def short(outcome: Outcome, caps: dict, zygote: Zygote) -> dict:
    """The report without anything that the guest has to be asked for."""
    state = zygote.state
    audit = zygote.audit
    of_conditions = None if outcome.conditions is None else outcome.conditions.report()
    notes = outcome.notes[:]
    value = exception = items = None
    more = False
    if outcome.has_result:
        value = describe_type(outcome.result)
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
        "threads_left": threads_since(state.threads, state.harness_threads),
        "descriptors_left": state.descriptors.opened_since(),
        "changed": state.changed(zygote.mode.limit, outcome, audit.environ),
        "violations": audit.violations,
        "notes": notes,
    }
    if more:
        report["paused_at"] = outcome.collected.paused_at
    if of_conditions is not None:
        report.update(of_conditions)
    return report


def is_simple(outcome: Outcome) -> bool:
    """Whether nothing of the guest's is asked to describe the result."""
    return outcome.has_result and outcome.error is None and is_scalar(outcome.result)


def lengthen(report: dict, outcome: Outcome, caps: dict, repo: str) -> None:
    """Adds the values and messages that the guest has to be asked for."""
    if outcome.error is None and not outcome.has_result:
        return
    if is_simple(outcome):
        describe_scalar(report["value"], outcome.result)
        return
    guard = Guard()
    outcome.held.append(guard)
    try:
        notes = outcome.notes[:]
        if outcome.has_result:
            describe_value(report["value"], outcome.result, caps, guard, notes)
        if outcome.error is not None:
            describer = Describer(caps, guard, notes, is_ours, repo)
            report["exception"] = describer.describe(outcome.error)
        report["notes"] = notes
    finally:
        if guard.armed:
            guard.disarm()


def flush(own_streams: list, held: list) -> None:
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


def _flushed(stream: Any) -> None:
    stream.flush()
