"""Serves init: sets up, imports the module once, then forks for each call.

`child` runs the calls. Invariants: once the import has ended this process runs none of the guest's
code, so that every fork starts from the same state; neither its working directory nor an open file
is the guest's, so that no call finds files of another through `/proc`; and a call that has ended
is reaped only when init has read from the kernel how it ended.
"""

from __future__ import annotations

import gc
import resource
import sys
from _signal import SIG_DFL, SIG_IGN, SIGCHLD, getsignal, signal
from _thread import _count
from errno import EAGAIN, ECHILD, EPERM
from posix import _exit, chdir, fork, getppid, kill, wait4, waitpid, write

from describe.report import with_default_limits
from runtime.call import CallProgress, import_module
from runtime.child import enter_directory, publish, run, serve_call
from runtime.fork_hooks import ForkHooks
from runtime.fork_limit import patch_fork
from runtime.guest_mode import GuestMode
from runtime.import_hooks import ImportHooks
from runtime.mailbox import Mailbox
from runtime.modules import Modules, has_async
from runtime.random_seed import RandomSeed
from runtime.site_start import SiteStart
from runtime.stack_sampler import install_handlers
from runtime.warmup import warm_up
from runtime.wire import Wire
from state.audit import Audit
from state.descriptors import all_open, identity
from state.integrity import Fingerprint
from state.reopen import find_reopenable, replace_with_placeholders
from state.snapshot import InterpreterSnapshot
from state.unforkable import find_unforkable

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.event_loop import EventLoop

# An alias, because its classes are replaced, which type checkers do not allow.
_resource: Any = resource
SIGKILL = 9
EXIT_BROKEN = 74
OUTSIDE = "/"
# Warm-up calls after the import, which may have invalidated caches.
IMPORT_ROUNDS = 2
# Freed when the guest has used up its memory, so that the report can still be written. `bytes` of
# zeros take no memory until they are written to.
RESERVE = 8 << 20
_freeze = gc.freeze
_modules = sys.modules
_Usage = resource.struct_rusage


def serve(control: int, call_socket: int, mailbox: int, size: int, stack_dump: int) -> None:
    """Serves frames until init is gone."""
    zygote = Zygote(Wire(control), call_socket, Mailbox(mailbox, size), stack_dump)
    install_handlers(stack_dump)
    try:
        while True:
            zygote.answer(zygote.wire.receive())
    except BaseException as error:
        # A regular exit would run functions that the guest registered for it.
        print_error(error)
    finally:
        _exit(EXIT_BROKEN)


def print_error(error: BaseException) -> None:
    """Prints an error of the harness itself on standard error."""
    place = error.__traceback__
    text = type(error).__name__ + ": " + str(error)
    while place is not None:
        text += "\n  " + place.tb_frame.f_code.co_filename + ":" + str(place.tb_lineno)
        place = place.tb_next
    write(2, ("menace guest harness: " + text + "\n").encode("utf-8", "replace"))


class Zygote:
    """The warm interpreter."""

    def __init__(self, wire: Wire, call_socket: int, mailbox: Mailbox, stack_dump: int) -> None:
        self.wire = wire
        self.control = wire.descriptor
        self.call_socket = call_socket
        self.stack_dump = stack_dump
        self.mailbox = mailbox
        self.guest_mode = GuestMode()
        self.modules = Modules()
        streams = (("stdout", sys.stdout), ("stderr", sys.stderr))
        self.streams = [(name, stream) for name, stream in streams if stream is not None]
        self.notes: list = []
        self.kept_alive: list = []
        self.output_identities = {number: identity(number) for number in (1, 2)}
        # What each call reopens: files, in its own overlay, and devices, which need none.
        self.files: list = []
        self.devices: list = []
        self.reserve: bytes | None = bytes(RESERVE)
        self.audit: Audit | None = None
        self.seeding: RandomSeed | None = None
        self.state: InterpreterSnapshot | None = None
        self.has_coverage_loaded = False
        self.preload_error: BaseException | None = None
        self.count_threads = _count
        self.before_import: InterpreterSnapshot | None = None
        self.fork_hooks: ForkHooks | None = None
        self.ignores_children = False
        # A thread of the import may change this process at any time.
        self.has_unforkable_state = False
        self.fingerprint: Fingerprint | None = None
        self.event_loop: type[EventLoop] | None = None
        self.description_limits: dict | None = None
        self.repo: str | None = None
        self.import_hooks: ImportHooks | None = None
        self.site = SiteStart(None, None)
        self.warm_up = warm_up
        self.ops = {
            "setup": self.set_up,
            "path": self.set_import_path,
            "import": self.import_guest,
            "fork_ahead": self.fork_ahead,
            "reap": self.reap,
            "sweep": self.sweep,
        }

    def answer(self, message: dict) -> None:
        """Handles one frame."""
        self.ops[message["op"]](message)

    def set_up(self, message: dict) -> None:
        """Prepares the interpreter before any code of the guest is loaded."""
        self.repo = message["repo"].rstrip("/") + "/"
        self.site = SiteStart(message["sys_executable"], message["venv_dir"])
        if message["site_excludes_repository"]:
            self.site.run()
        self.import_hooks = import_hooks = ImportHooks()
        self.seeding = RandomSeed(message["seed"], import_hooks)
        if message["freeze_time"] is not None:
            from runtime.frozen_clock import freeze

            freeze(message["freeze_time"], import_hooks)
        unrecorded_read = list(message["unrecorded_read"]) + [entry for entry in sys.path if entry]
        self.audit = self.guest_mode.audit = Audit(
            unrecorded_read, message["unrecorded_write"], self.mailbox
        )
        self.audit.install()
        patch_fork(self.mailbox.report_refused_fork)
        self.fork_hooks = ForkHooks()
        self.state = self.before_import = InterpreterSnapshot(self.guest_mode.recursion_limit)
        self.description_limits = with_default_limits(message["description_limits"], self.mailbox)
        self.devices, _ = find_reopenable((0,))
        chdir(OUTSIDE)
        self.state.cwd = OUTSIDE
        self.wire.send({"op": "ready", "version": list(sys.version_info[:3])})
        # Init does other work meanwhile.
        warm_up(self)
        self.fingerprint = Fingerprint(self)

    def set_import_path(self, message: dict) -> None:
        """Sets the first entries of `sys.path`, before any code of the guest is loaded."""
        if self.site.is_pending:
            self.site.import_roots = message["sys_path"]
        else:
            sys.path[:0] = message["sys_path"]

    def import_guest(self, message: dict) -> None:
        """Imports the module whose sections will be called."""
        description_limits = (
            self.description_limits
            if message["description_limits"] is None
            else with_default_limits(message["description_limits"], self.mailbox)
        )
        progress = CallProgress()
        enter_directory(self, self.repo[:-1] or "/")
        run(self, progress, import_module, message)
        self.fingerprint.report_changes()
        if self.audit.hooks:
            self.fingerprint.report("an audit hook")
        publish(self, progress, description_limits)
        unforkable = self.finish_import(message["module"])
        self.wire.send(
            {
                "op": "imported",
                "ok": progress.result_kind == "returned",
                "unforkable_state": unforkable,
            }
        )

    def finish_import(self, module: str) -> list:
        """Makes the present state that of every call; returns the unforkable state."""
        if self.event_loop is None and has_async(module):
            # Loaded here once, for all later calls.
            from runtime.event_loop import EventLoop

            self.event_loop = EventLoop
        self.fork_hooks.take()
        if self.fork_hooks.foreign:
            named = self.fork_hooks.describe_foreign()
            self.notes.append("its import runs code in each fork: " + named)
        files, shared = find_reopenable(filter(self.may_be_from_import, all_open()))
        unforkable = find_unforkable(self.before_import.threads, shared, self.mailbox)
        self.has_unforkable_state = len(unforkable) > 0
        self.ignores_children = getsignal(SIGCHLD) is SIG_IGN
        self.devices = [file for file in files if file.is_device]
        self.files = [file for file in files if not file.is_device]
        if not unforkable:
            # With unforkable state there is one call only, and a thread may need the files.
            replace_with_placeholders(self.files)
            chdir(OUTSIDE)
        self.state = InterpreterSnapshot(
            self.guest_mode.recursion_limit, (self.control, self.call_socket)
        )
        if self.ignores_children:
            # The kernel would keep no exit status. Each call ignores them again.
            signal(SIGCHLD, SIG_DFL)
        self.audit.forget()
        if self.reserve is None:
            self.reserve = bytes(RESERVE)
        warm_up(self, IMPORT_ROUNDS)
        _freeze()
        return unforkable

    def may_be_from_import(self, number: int) -> bool:
        """Whether the import may have opened this descriptor."""
        if number in (self.control, self.call_socket, self.stack_dump):
            return False
        return number not in self.output_identities or self.output_identities[number] != identity(
            number
        )

    def fork_ahead(self, message: dict) -> None:
        """Forks ahead of the next call."""
        try:
            pid = fork()
        except OSError as error:
            self.wire.send({"op": "forked", "errno": error.errno or EAGAIN})
            return
        if pid == 0:
            serve_call(self, message.get("warms_fork"))
        self.wire.send({"op": "forked", "pid": pid})

    def reap(self, message: dict) -> None:
        """Takes the exit status of a call that has ended, once init has read it."""
        if _modules.get("resource") is not resource or resource.struct_rusage is not _Usage:
            # `wait4` takes the type of its result from there without a check, and crashes if it was
            # replaced.
            _modules["resource"] = resource
            _resource.struct_rusage = _Usage
        while True:
            try:
                pid, status, usage = wait4(message["pid"], 0)
                break
            except InterruptedError:
                continue
            except ChildProcessError:
                self.wire.send({"op": "reaped", "errno": ECHILD})
                return
        # Read before init is informed, which then clears the mailbox.
        preload_wanted = not self.has_coverage_loaded and self.mailbox.wants_preload()
        self.wire.send(
            {
                "op": "reaped",
                "pid": pid,
                "status": status,
                "utime": usage[0],
                "stime": usage[1],
                "maxrss": usage[2],
            }
        )
        if preload_wanted:
            self.preload_coverage()

    def preload_coverage(self) -> None:
        """Loads the modules that calls with coverage need; none belongs to the guest."""
        self.has_coverage_loaded = True
        try:
            from coverage.recorder import CoverageRecorder  # noqa: F401
            from runtime.conditions import Conditions  # noqa: F401
        except BaseException as error:
            # An audit hook of the guest may raise. Then each call loads them itself.
            self.preload_error = error
        _freeze()

    def sweep(self, _message: dict) -> None:
        """Kills all processes of a call. Only as a child of PID 1: else it would kill others."""
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
