# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Serves the init: sets up, imports the module once, then forks for each call.

What happens in a call belongs to `child`. Invariants: between two frames this process runs none of
the guest's code, so that every fork starts from the same state; and it neither stands in a directory
of the guest's nor has one of its files open, so that no call finds another's through `/proc`.
"""

import gc
import resource
import sys
from _thread import _count
from errno import EAGAIN, EPERM
from mailbox import Mailbox
from posix import _exit, chdir, fork, getppid, kill, wait4, waitpid, write

import child
from audit import Audit
from calling import Outcome, import_module
from descriptors import all_open, identity
from forking import watch
from guest_mode import GuestMode
from importing import Afterwards
from keeping import kept
from modules import Modules, has_async
from reopening import again, let_go
from reporting import complete, flush
from seeding import Seeding
from state import State
from warming import warm_up
from whereabouts import tell
from wire import Wire

SIGKILL = 9
BROKEN = 74
OUTSIDE = "/"
# How often a call is gone through after the import, which may have changed what was warm.
AGAIN = 2
# Freed when the guest has used up its memory, so that the report can still be written.
# Of `bytes`, which the kernel gives no memory until somebody writes into them.
RESERVE = 8 << 20
_freeze = gc.freeze
_modules = sys.modules
_Usage = resource.struct_rusage


def serve(control, go, mailbox, size, frames):
    """Answers the init until it is gone."""
    zygote = Zygote(Wire(control), go, Mailbox(mailbox, size), frames)
    tell(frames)
    try:
        while True:
            zygote.answer(zygote.wire.receive())
    except BaseException as error:
        # Leaving through the interpreter's end would run what the guest registered for it.
        complain(error)
    finally:
        _exit(BROKEN)


def complain(error):
    """Says on standard error what is wrong with the harness itself."""
    place = error.__traceback__
    text = type(error).__name__ + ": " + str(error)
    while place is not None:
        text += "\n  " + place.tb_frame.f_code.co_filename + ":" + str(place.tb_lineno)
        place = place.tb_next
    write(2, ("menace guest harness: " + text + "\n").encode("utf-8", "replace"))


class Zygote:
    """The warm interpreter."""

    def __init__(self, wire, go, mailbox, frames):
        self.wire = wire
        self.control = wire.descriptor
        self.go = go
        self.frames = frames
        self.mailbox = mailbox
        self.mode = GuestMode()
        self.modules = Modules()
        streams = (("stdout", sys.stdout), ("stderr", sys.stderr))
        self.streams = [(name, stream) for name, stream in streams if stream is not None]
        self.notes = []
        self.output = {number: identity(number) for number in (1, 2)}
        # What each call has to open anew: in its layer, and what can be had before that is there.
        self.files = []
        self.devices = []
        self.reserve = bytes(RESERVE)
        self.audit = self.seeding = self.state = None
        self.watches = False
        self.held = None
        self.count_threads = _count
        self.first = self.tasks = self.caps = self.repo = self.afterwards = None
        self.warm_up = warm_up
        self.ops = {
            "setup": self.set_up,
            "path": self.lead,
            "import": self.import_guest,
            "prepare": self.prepare,
            "sweep": self.sweep,
        }

    def answer(self, message):
        """Does what one frame asks for."""
        self.ops[message["op"]](message)

    def set_up(self, message):
        """Prepares the interpreter before anything of the guest's is loaded."""
        self.repo = message["repo"].rstrip("/") + "/"
        self.afterwards = afterwards = Afterwards()
        self.seeding = Seeding(message["seed"], afterwards)
        if message["freeze_time"] is not None:
            from frozen_time import freeze

            freeze(message["freeze_time"], afterwards)
        roots = list(message["roots"]) + [entry for entry in sys.path if entry]
        self.audit = self.mode.audit = Audit(roots, message["write_roots"], self.mailbox.tell)
        self.audit.install()
        watch(self.mailbox.refuse_fork)
        self.state = self.first = State(self.mode.limit)
        self.caps = complete(message["caps"], self.mailbox)
        self.devices, _ = again((0,))
        chdir(OUTSIDE)
        self.state.cwd = OUTSIDE
        self.wire.send({"op": "ready", "version": list(sys.version_info[:3])})
        # While the init has other things to do.
        warm_up(self)

    def lead(self, message):
        """Says where modules are imported from; before anything of the guest's is loaded."""
        sys.path[:0] = message["sys_path"]

    def import_guest(self, message):
        """Imports the module that the calls will be about."""
        caps = self.caps if message["caps"] is None else complete(message["caps"], self.mailbox)
        outcome = Outcome()
        child.enter(self, self.repo[:-1] or "/")
        child.run(self, outcome, import_module, message)
        child.publish(self, outcome, caps)
        flush(self.streams, outcome.held)
        keeps = self.settle_down(message["module"])
        self.wire.send({"op": "imported", "ok": outcome.kind == "returned", "keeps": keeps})

    def settle_down(self, module):
        """Takes what the import left as the start of every call; says what forks would share."""
        if self.tasks is None and has_async(module):
            # Once, for all calls to come.
            import tasks

            self.tasks = tasks
        files, shared = again(filter(self.is_left, all_open()))
        keeps = kept(self.first.threads, shared, self.mailbox)
        self.devices = [file for file in files if file.is_device]
        self.files = [file for file in files if not file.is_device]
        if not keeps:
            # Else one call is all that this process will fork for, and a thread may need them.
            let_go(self.files)
            chdir(OUTSIDE)
        self.state = State(self.mode.limit, (self.control, self.go))
        self.audit.forget()
        if self.reserve is None:
            self.reserve = bytes(RESERVE)
        warm_up(self, AGAIN)
        _freeze()
        return keeps

    def is_left(self, number):
        """Whether it may be the import that opened this descriptor."""
        if number in (self.control, self.go, self.frames):
            return False
        return number not in self.output or self.output[number] != identity(number)

    def prepare(self, message):
        """Forks ahead of the next call, and waits until that call has ended."""
        try:
            pid = fork()
        except OSError as error:
            self.wire.send({"op": "forked", "errno": error.errno or EAGAIN})
            return
        if pid == 0:
            child.live(self, message.get("touch"))
        self.wire.send({"op": "forked", "pid": pid})
        if _modules.get("resource") is not resource or resource.struct_rusage is not _Usage:
            # wait4 takes the type of its answer from there, whatever it is, and crashes.
            _modules["resource"] = resource
            resource.struct_rusage = _Usage
        while True:
            try:
                _, status, usage = wait4(pid, 0)
                break
            except InterruptedError:
                continue
        # Before the init knows, who then clears it.
        learns = not self.watches and self.mailbox.holds_wish()
        self.wire.send(
            {
                "op": "exited",
                "pid": pid,
                "status": status,
                "utime": usage[0],
                "stime": usage[1],
                "maxrss": usage[2],
            }
        )
        if learns:
            self.learn_to_watch()

    def learn_to_watch(self):
        """Loads what calls with coverage need; one is seldom alone. None of it is the guest's."""
        self.watches = True
        try:
            import conditions  # noqa: F401
            import coverage  # noqa: F401
        except BaseException as error:
            # An audit hook of the guest's may not like it. Then each call does it for itself.
            self.held = error
        _freeze()

    def sweep(self, _message):
        """Kills all that is left of a call. Only below an init of its own: else it is everybody."""
        if getppid() != 1:
            self.wire.send({"op": "swept", "errno": EPERM})
            return
        try:
            kill(-1, SIGKILL)
        except ProcessLookupError:
            pass
        while True:
            try:
                waitpid(-1, 0)
            except ChildProcessError:
                break
        self.wire.send({"op": "swept"})
