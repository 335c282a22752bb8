"""Misbehaves while a module is imported: each function is the top level of a module of its own."""

import atexit
import builtins
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

from hostile_tools import *


def read_secrets():
    """Reads the password file and a file of the host."""
    return must_fail(lambda: read("/etc/shadow"), lambda: read(CANARY), lambda: read_in_c(CANARY))


def read_init():
    """Reads the environment and the memory of PID 1."""
    return must_fail(lambda: read("/proc/1/environ"), lambda: read("/proc/1/mem"))


def write_the_host():
    """Writes files of the host and the interpreter's library."""
    paths = (CANARY, os.__file__, "/etc/passwd")
    return must_fail(*[lambda path=path: write(path) for path in paths])


def write_the_repository():
    """Writes the repository and its hooks: changes of the sandbox's own copy."""
    os.makedirs(".git/hooks", exist_ok=True)
    for name in (".git/hooks/pre-commit", "sitecustomize.py", "new.py", "data.txt"):
        write(name)
        try:
            write(os.path.join(HOST_REPO, name))
        except OSError:
            pass


def connect_to_the_host():
    """Connects to services of the host."""
    return must_fail(
        lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", TCP_PORT)),
        lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + STREAM_NAME),
        lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, STREAM_PATH),
    )


def signal_everything():
    """Signals init and all processes."""
    return must_fail(lambda: os.kill(1, 9), lambda: os.kill(-1, 9), lambda: os.killpg(1, 9))


def make_namespaces():
    """Makes namespaces, mounts, traces."""
    found = [system_call("unshare", 0x10000000), system_call("mount", 0, 0, 0, 0, 0)]
    found.append(system_call("ptrace", 16, os.getppid(), 0, 0))
    return "ESCAPED: %r" % found if any(answer == 0 for answer, _ in found) else "refused"


def sleep():
    """Never ends.

    import_timeout: 400
    verdict: timed_out
    """
    time.sleep(3600)


def loop_in_c():
    """Never ends in one instruction.

    import_timeout: 400
    verdict: timed_out
    """
    return 10**9 ** 9


def stop_itself():
    """Stops itself.

    import_timeout: 400
    verdict: timed_out
    """
    os.kill(os.getpid(), signal.SIGSTOP)


def ignore_all_signals():
    """Ignores and blocks all signals; its functions can be called all the same."""
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {32, 33})


def leave_at_once():
    """Leaves with the code of success.

    verdict: crashed
    """
    os._exit(0)


def exit_politely():
    """Asks to end.

    verdict: raised crashed
    """
    sys.exit(0)


def abort():
    """Crashes.

    verdict: crashed
    """
    os.abort()


def replace_itself():
    """Becomes another program.

    verdict: crashed
    """
    os.execv("/bin/true", ["true"])


def allocate():
    """Takes more memory than an import may.

    verdict: out_of_memory raised
    """
    kept = []
    while True:
        kept.append(b"x" * (1 << 20))


def fill_the_disk():
    """Writes more than an import may.

    verdict: out_of_disk raised
    """
    with open("big", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * (1 << 20))


def print_without_end():
    """Prints 64 MB."""
    for _ in range(64):
        os.write(1, b"x" * (1 << 20))


def leave_a_daemon():
    """A daemon of the import goes on."""
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        forever()


def leave_threads():
    """Threads of the import go on, and fork."""
    def work():
        while True:
            time.sleep(0.02)
            if os.fork() == 0:
                time.sleep(3600)

    threading.Thread(target=work, daemon=True).start()


def fork_without_end():
    """A process that forks, and so do its children.

    import_timeout: 500
    verdict: timed_out violated raised crashed out_of_memory
    """
    while True:
        try:
            os.fork()
        except OSError:
            pass


def close_everything():
    """Closes all descriptors, those of the harness too.

    verdict: crashed returned
    """
    os.closerange(0, 1024)


def write_to_every_descriptor():
    """Writes nonsense into the harness's sockets.

    verdict: crashed returned timed_out
    """
    for fd in fds():
        try:
            os.set_blocking(fd, False)
            os.write(fd, b"\xff" * 4096)
        except OSError:
            pass


def fill_every_descriptor():
    """Fills whatever can be written until it would block.

    verdict: crashed returned timed_out
    """
    for fd in fds():
        try:
            os.set_blocking(fd, False)
            for _ in range(1000):
                os.write(fd, b"MNC2\xff\xff\xff\x00" * 1000)
        except OSError:
            pass


def lower_all_limits():
    """Lowers the limits that the processes of the calls inherit.

    verdict: returned crashed raised
    """
    for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_NPROC"):
        limit = getattr(resource, name)
        resource.setrlimit(limit, (0, resource.getrlimit(limit)[1]))


def patch_the_library():
    """Replaces functions of the library with those that raise."""
    import json
    import marshal

    def nonsense(*args, **kwargs):
        raise RuntimeError("patched")

    json.dumps = json.loads = marshal.dumps = marshal.loads = nonsense
    for name in ("_exit", "fork", "write", "read", "close", "getpid", "waitpid", "kill"):
        setattr(os, name, nonsense)
        setattr(sys.modules["posix"], name, nonsense)
    builtins.repr = builtins.len = builtins.isinstance = nonsense


def hang_when_forked():
    """A hook that runs when the zygote forks never returns.

    timeout: 400
    verdict: timed_out crashed
    """
    os.register_at_fork(before=forever)


def leave_when_forked():
    """A hook that runs in the new process of each call leaves it.

    verdict: crashed
    """
    os.register_at_fork(after_in_child=lambda: os._exit(0))


def raise_in_a_trace():
    """A tracer is left that raises wherever it can.

    verdict: returned raised
    """
    def trace(frame, event, argument):
        raise RuntimeError("traced")

    threading.settrace(trace)
    sys.setprofile(trace)


def leave_a_timer():
    """A timer goes off again and again.

    verdict: returned raised crashed
    """
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(RuntimeError("alarm")))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def hide_a_module():
    """The module replaces itself by an object that claims all names.

    verdict: returned raised
    """
    class Anything:
        def __getattr__(self, name):
            return self

        def __call__(self, *args, **kwargs):
            forever()

    class Quiet(Anything):
        __call__ = None

    sys.modules["json"] = Anything()
    sys.modules["typing"] = Quiet()


def hook_into_the_audit():
    """A hook for audit events stays, which the harness's own work meets.

    verdict: violated
    """
    def hook(event, arguments):
        if event in ("os.fork", "open", "os.chdir"):
            raise RuntimeError("audited")

    sys.addaudithook(hook)


def remove_its_home():
    """Home and temporary directory are gone when the calls come."""
    import shutil

    for place in (os.path.expanduser("~"), TMP):
        shutil.rmtree(place, ignore_errors=True)


def forge_the_report_of_later_calls():
    """A patched harness reports success for a call that has killed itself.

    verdict: violated
    """
    frame = sys._getframe()
    while frame.f_globals.get("__name__") != "runtime.child":
        frame = frame.f_back
        if frame is None:
            raise AttemptBroken("the import does not run in the harness of its calls")
    space = frame.f_globals
    run, publish = space["run"], space["publish"]

    def forged(zygote, progress, action, call):
        progress.result_kind = "returned"
        publish(zygote, progress, zygote.description_limits)
        run(zygote, progress, action, call)

    space["run"] = forged
    builtins.menace_dies = True
