"""Builds the report of a call: first the part that runs none of the guest's code, then the rest.

Invariant: the short report is in the mailbox before any method of the guest is called.
"""

from __future__ import annotations

import sys

from arguments.builder import STUB_GLOBALS
from describe.exceptions import Describer
from describe.result import describe_scalar, describe_type, describe_value, is_scalar
from describe.time_budget import TimeBudget
from state.snapshot import threads_since

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import CallProgress
    from runtime.mailbox import Mailbox
    from runtime.zygote import Zygote

_sys_names = sys.__dict__
DEFAULT_DESCRIPTION_LIMITS: dict = {
    "repr": 2000,
    "items": 1000,
    "depth": 20,
    "message": 2000,
    "frames": 50,
}
# marshal stops at a depth of two thousand, and each level of a description takes two.
MAX_DEPTH = 400


def with_default_limits(description_limits: dict, mailbox: Mailbox) -> dict:
    """The limits with defaults, and reduced to what the mailbox and the interpreter support."""
    made = dict(DEFAULT_DESCRIPTION_LIMITS)
    for name, value in (description_limits or {}).items():
        if name in made and type(value) is int:
            made[name] = max(0, value)
    made["repr"] = min(made["repr"], mailbox.size // 8)
    made["message"] = min(made["message"], mailbox.size // 32)
    made["depth"] = min(made["depth"], MAX_DEPTH)
    made["frames"] = min(made["frames"], 1000)
    return made


def is_of_harness(frame_globals: dict) -> bool:
    """Whether a frame with these globals belongs to the harness."""
    if frame_globals is STUB_GLOBALS:
        return True
    return dict.get(frame_globals, "__builtins__") is __builtins__


def build_short_report(progress: CallProgress, description_limits: dict, zygote: Zygote) -> dict:
    """The report without the parts that need the guest's methods."""
    state = zygote.state
    audit = zygote.audit
    of_conditions = None if progress.conditions is None else progress.conditions.report()
    notes = progress.notes[:]
    value = exception = items = None
    more = False
    if progress.has_result:
        value = describe_type(progress.result)
    if progress.error is not None:
        exception = Describer(description_limits, None, notes, is_of_harness, zygote.repo).describe(
            progress.error
        )
    if progress.collected is not None:
        items = len(progress.collected.items)
        more = progress.collected.more
    report = {
        "kind": progress.result_kind,
        "stage": progress.stage,
        "wall_ns": int(progress.wall),
        "user_ns": max(0, round(progress.user * 1e9)),
        "system_ns": max(0, round(progress.system * 1e9)),
        "value": value,
        "exception": exception,
        "items": items,
        "more": more,
        "leaked_threads": threads_since(state.threads, state.harness_threads),
        "leaked_descriptors": state.descriptors.opened_since(),
        "state_changes": state.changed(
            zygote.guest_mode.recursion_limit, progress, audit.environ_touched
        ),
        "violations": audit.violations,
        "notes": notes,
    }
    if more:
        report["stopped_at"] = progress.collected.stopped_at
    if of_conditions is not None:
        report.update(of_conditions)
    return report


def is_scalar_result(progress: CallProgress) -> bool:
    """Whether the result can be described without calling the guest's methods."""
    return progress.has_result and progress.error is None and is_scalar(progress.result)


def add_guest_texts(
    report: dict, progress: CallProgress, description_limits: dict, repo: str
) -> None:
    """Adds the values and messages that need the guest's methods."""
    if progress.error is None and not progress.has_result:
        return
    if is_scalar_result(progress):
        describe_scalar(report["value"], progress.result)
        return
    budget = TimeBudget()
    progress.kept_alive.append(budget)
    try:
        notes = progress.notes[:]
        if progress.has_result:
            describe_value(report["value"], progress.result, description_limits, budget, notes)
        if progress.error is not None:
            describer = Describer(description_limits, budget, notes, is_of_harness, repo)
            report["exception"] = describer.describe(progress.error)
        report["notes"] = notes
    finally:
        if budget.armed:
            budget.disarm()


def has_harness_streams(harness_streams: list) -> bool:
    """Whether flushing them asks nothing of the guest's."""
    for name, own in harness_streams:
        if _sys_names.get(name) is not own:
            return False
    return True


def flush(harness_streams: list, kept_alive: list) -> None:
    """Flushes the standard streams; the guest may have replaced them with anything."""
    for name, own in harness_streams:
        stream = _sys_names.get(name)
        if stream is not own and stream is not None:
            budget = TimeBudget()
            kept_alive.append(budget)
            budget.ask(_flushed, stream)
            budget.disarm()
        try:
            type(own).flush(own)
        except BaseException as error:
            kept_alive.append(error)


def _flushed(stream: Any) -> None:
    stream.flush()
