"""The process of one call: from the fork to `_exit`.

Invariant: it never returns, and only the process that was forked for the call writes the report,
not one that the guest forked in it. `zygote` does all that can be done before the fork: every
object touched here is a page to copy.
"""

from __future__ import annotations

from _signal import SIG_IGN, SIG_SETMASK, SIGCHLD, pthread_sigmask, signal
from posix import _exit, chdir, close, getpid, setsid

from describe.report import (
    add_guest_texts,
    build_short_report,
    flush,
    has_harness_streams,
    is_scalar_result,
    with_default_limits,
)
from runtime.call import CallProgress, perform, record_failure
from runtime.guest_mode import ALL, get_tool, set_events
from runtime.mailbox import FORGED_WINDOW, SEEN_WINDOW_END, WINDOW
from runtime.wire import Wire

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable

    from runtime.zygote import Zygote

EXIT_NO_REPORT = 73
# The number of keys that every call has: target, receiver, args, kwargs, seed, cwd,
# needs_no_building and description_limits. A call with more keys has conditions.
KEYS = 8


def serve_call(zygote: Zygote, warms_fork: bool | None) -> None:
    """Waits for the call, makes it, reports and exits."""
    try:
        setsid()
        close(zygote.control)
        if zygote.ignores_children:
            signal(SIGCHLD, SIG_IGN)
        for file in zygote.devices:
            file.reopen_for_call(zygote.notes)
        if warms_fork:
            # Pages that this call copies need not be copied when the real call is there.
            zygote.warm_up(zygote, 1)
        call = Wire(zygote.call_socket).receive()
        close(zygote.call_socket)
        if zygote.fork_hooks.are_back():
            zygote.fingerprint.report("a function that runs in each fork")
            _exit(EXIT_NO_REPORT)
        if zygote.has_unforkable_state and zygote.fingerprint.report_changes():
            _exit(EXIT_NO_REPORT)
        # A request without one of the keys ends the process.
        description_limits = call["description_limits"]
        call["description_limits"] = description_limits = (
            zygote.description_limits
            if description_limits is None
            else with_default_limits(description_limits, zygote.mailbox)
        )
        _enter_call(zygote, call)
        progress = CallProgress()
        if call.get("receiver") is not None or not call.get("needs_no_building"):
            progress.state = zygote.state
        if len(call) > KEYS:
            from runtime.conditions import Conditions

            progress.conditions = Conditions(zygote, progress, call)
        if "steps" in call:
            from runtime.shared_process import run_steps

            run_steps(zygote, progress, call)
        else:
            run(zygote, progress, perform, call)
        publish(zygote, progress, description_limits)
        _exit(0)
    finally:
        _exit(EXIT_NO_REPORT)


def enter_directory(zygote: Zygote, directory: str) -> None:
    """Makes this the working directory in which the guest starts."""
    try:
        chdir(directory)
        zygote.state.cwd = directory
    except OSError as error:
        zygote.notes.append("the working directory was not set: " + str(error))


def _enter_call(zygote: Zygote, call: dict) -> None:
    enter_directory(zygote, call["cwd"])
    for file in zygote.files:
        file.reopen_for_call(zygote.notes)
    _run_fork_hooks(zygote)
    if zygote.state.threads:
        # Some versions of Python still count threads that remained in the parent.
        zygote.state.threads = zygote.count_threads()
    zygote.seeding.start(call["seed"])


def _run_fork_hooks(zygote: Zygote) -> None:
    """Runs what the import registered for forks; a call whose harness it changes is not made."""
    hooks = zygote.fork_hooks
    if not hooks.registered[0] and not hooks.registered[1]:
        hooks.restore()
        return
    progress = CallProgress()
    run(zygote, progress, hooks.run, {})
    if hooks.foreign and zygote.fingerprint.report_changes():
        _exit(EXIT_NO_REPORT)
    zygote.notes = progress.notes
    zygote.kept_alive = progress.kept_alive


def run(zygote: Zygote, progress: CallProgress, action: Callable, call: dict) -> None:
    """Runs the guest's code and records how it ended."""
    own_process = getpid()
    window = zygote.mailbox.next_fault_window() if "faults" in call else None
    try:
        _run(zygote, progress, action, call, window)
    except BaseException as error:
        # A handler of the guest raised in the lines that were to keep it out.
        _end(zygote, progress, error)
    if getpid() != own_process:
        flush(zygote.streams, progress.kept_alive)
        _exit(0)
    if window is not None and zygote.mailbox.map[WINDOW] == window[0]:
        zygote.mailbox.map[WINDOW] = window[1]
    progress.notes[:0] = zygote.notes


def _run(
    zygote: Zygote, progress: CallProgress, action: Callable, call: dict, window: tuple | None
) -> None:
    mode = zygote.guest_mode
    memory = zygote.mailbox.map
    own_process = getpid()
    has_begun = False
    try:
        try:
            mode.enter()
            if zygote.site.is_pending:
                zygote.site.enter(zygote.audit)
            if window is not None:
                # While this is set, that is while the section runs, init injects faults.
                memory[WINDOW] = window[0]
                has_begun = True
            action(progress, zygote.modules, call)
        finally:
            # First of all, and without calling a Python function: until the signals are blocked, a
            # handler, a tracer or a monitoring tool of the guest may raise here.
            mode.mask = pthread_sigmask(SIG_SETMASK, ALL)
            if has_begun and getpid() == own_process:
                if memory[WINDOW] == window[0] and memory[SEEN_WINDOW_END] != window[1]:
                    memory[WINDOW] = window[1]
                else:
                    # The guest has ended it before, to be spared.
                    memory[WINDOW] = FORGED_WINDOW
        mode.leave()
    except BaseException as error:
        if issubclass(type(error), MemoryError):
            # Before anything else: even calling a function takes memory, and the guest may have
            # used it up.
            zygote.reserve = None
        try:
            if get_tool is not None:
                for tool in range(6):
                    if get_tool(tool) is not None:
                        set_events(tool, 0)
        except BaseException as late:
            progress.kept_alive.append(late)
        _end(zygote, progress, error)


def _end(zygote: Zygote, progress: CallProgress, error: BaseException) -> None:
    while True:
        try:
            pthread_sigmask(SIG_SETMASK, ALL)
            break
        except BaseException as late:
            progress.kept_alive.append(late)
    progress.kept_alive.append(error)
    zygote.guest_mode.leave()
    progress.stop_clock()
    if progress.result_kind is None:
        record_failure(progress, error)
    if progress.event_loop is not None:
        progress.event_loop.abandon()


def publish(zygote: Zygote, progress: CallProgress, description_limits: dict) -> None:
    """Writes both reports; repeats it if code of the guest interfered.

    No code of the guest may run between the full report and the exit: if the process ends in any
    other way than by its own exit, init takes the report for a forgery.
    """
    for retry in range(3):
        try:
            report = build_short_report(progress, description_limits, zygote)
            if not is_scalar_result(progress) or not has_harness_streams(zygote.streams):
                zygote.mailbox.post_short(report)
            add_guest_texts(report, progress, description_limits, zygote.repo)
            flush(zygote.streams, progress.kept_alive)
            zygote.mailbox.post_full(report)
            return
        except BaseException as error:
            progress.kept_alive.append(error)
            zygote.reserve = None
            if retry == 1:
                progress.has_result = False
                progress.note("the result could not be described")
