# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""The process of one call: from the fork to `_exit`.

Invariant: it never returns, and only the process that was forked for the call writes the report,
not one that the guest forked in it. What can be done before the fork is done by `zygote`: every
object touched here is a page to copy.
"""

from _signal import SIG_SETMASK, pthread_sigmask
from mailbox import ACTIVE
from posix import _exit, chdir, close, getpid, setsid

from calling import Outcome, perform, settle
from guest_mode import ALL, get_tool, set_events
from reporting import complete, flush, is_simple, lengthen, short
from wire import Wire

NO_REPORT = 73
# What every call has; more than that are conditions.
KEYS = 9


def live(zygote, touch):
    """Waits for the call, makes it, reports and ends."""
    try:
        setsid()
        close(zygote.control)
        for file in zygote.devices:
            file.separate(zygote.notes)
        if touch:
            # Every page that this touches need not be copied when the call is there.
            zygote.warm_up(zygote, 1)
        call = Wire(zygote.go).receive()
        close(zygote.go)
        # One that lacks something ends the process.
        caps = call["caps"]
        call["caps"] = caps = zygote.caps if caps is None else complete(caps, zygote.mailbox)
        _settle_in(zygote, call)
        outcome = Outcome()
        if call.get("receiver") is not None or not call.get("plain"):
            outcome.state = zygote.state
        if len(call) > KEYS:
            from conditions import Conditions

            outcome.conditions = Conditions(zygote, outcome, call)
        if "together" in call:
            from together import go_through

            go_through(zygote, outcome, call)
        else:
            run(zygote, outcome, perform, call)
        publish(zygote, outcome, caps)
        flush(zygote.streams, outcome.held)
        _exit(0)
    finally:
        _exit(NO_REPORT)


def enter(zygote, directory):
    """Makes this the working directory, from which the guest starts."""
    try:
        chdir(directory)
        zygote.state.cwd = directory
    except OSError as error:
        zygote.notes.append("the working directory was not set: " + str(error))


def _settle_in(zygote, call):
    enter(zygote, call["cwd"])
    for file in zygote.files:
        file.separate(zygote.notes)
    if zygote.state.threads:
        # Some versions still count those that stayed in the parent.
        zygote.state.threads = zygote.count_threads()
    zygote.seeding.start(call["seed"])


def run(zygote, outcome, action, call):
    """Lets the guest run and notes how it ended."""
    own_process = getpid()
    try:
        _run(zygote, outcome, action, call)
    except BaseException as error:
        # A handler that the guest left broke into the lines that were to keep it out.
        _end(zygote, outcome, error)
    if getpid() != own_process:
        flush(zygote.streams, outcome.held)
        _exit(0)
    outcome.notes[:0] = zygote.notes


def _run(zygote, outcome, action, call):
    mode = zygote.mode
    try:
        try:
            mode.enter()
            if "faults" in call:
                # From here on, and no longer than the section runs, the init lets things fail.
                zygote.mailbox.map[ACTIVE] = 1
            action(outcome, zygote.modules, call)
        finally:
            # First of all, and without calling a function: a handler, a tracer or a tool that
            # the guest left may break in and raise until this is done.
            mode.mask = pthread_sigmask(SIG_SETMASK, ALL)
            if "faults" in call:
                zygote.mailbox.map[ACTIVE] = 0
        mode.leave()
    except BaseException as error:
        if issubclass(type(error), MemoryError):
            # Before anything else: even calling a function takes memory.
            zygote.reserve = None
        try:
            if get_tool is not None:
                for tool in range(6):
                    if get_tool(tool) is not None:
                        set_events(tool, 0)
        except BaseException as late:
            outcome.held.append(late)
        _end(zygote, outcome, error)


def _end(zygote, outcome, error):
    while True:
        try:
            pthread_sigmask(SIG_SETMASK, ALL)
            break
        except BaseException as late:
            outcome.held.append(late)
    outcome.held.append(error)
    zygote.mode.leave()
    outcome.stop_clock()
    if outcome.kind is None:
        settle(outcome, error)
    if outcome.tasks is not None:
        outcome.tasks.abandon()


def publish(zygote, outcome, caps):
    """Writes both reports; again if something of the guest's came between."""
    for attempt in range(3):
        try:
            report = short(outcome, caps, zygote)
            if not is_simple(outcome):
                zygote.mailbox.post_short(report)
            lengthen(report, outcome, caps, zygote.repo)
            zygote.mailbox.post_full(report)
            return
        except BaseException as error:
            outcome.held.append(error)
            zygote.reserve = None
            if attempt == 1:
                outcome.has_result = False
                outcome.note("the result could not be described")
