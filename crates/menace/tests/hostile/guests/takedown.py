"""Tries to hold up, end or confuse the sandbox: each call has an outcome, the next one works."""

import array
import ctypes
import fcntl
import gc
import io
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from hostile_tools import *


def fine():
    return "fine"


def loop():
    """Never ends.

    timeout: 200
    verdict: timed_out
    """
    while True:
        pass


def loop_in_c():
    """Never ends in one instruction, in which no signal handler of Python's runs.

    timeout: 200
    verdict: timed_out
    """
    return 10**9 ** 9


def sleep():
    """Does nothing for an hour.

    timeout: 200
    verdict: timed_out
    """
    time.sleep(3600)


def ignore_all_signals():
    """Ignores and blocks every signal that can be.

    timeout: 200
    verdict: timed_out
    """
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {32, 33})
    forever()


def stop_itself():
    """Stops itself.

    timeout: 200
    verdict: timed_out
    """
    os.kill(os.getpid(), signal.SIGSTOP)


def swallow_every_exception():
    """Catches whatever is raised to end it.

    timeout: 200
    verdict: timed_out
    """
    while True:
        try:
            forever()
        except BaseException:
            pass


def hang_in_a_hook_at_exit():
    """A hook that runs when the interpreter ends never returns."""
    import atexit

    atexit.register(forever)


def hang_in_a_finaliser():
    """An object's end never comes.

    timeout: 300
    verdict: returned timed_out
    """
    class Endless:
        def __del__(self):
            forever()

    sys.endless = Endless()


def hang_in_a_description():
    """The value's text never ends.

    timeout: 300
    verdict: returned timed_out
    """
    class Endless:
        def __repr__(self):
            forever()

    return Endless()


def hang_in_a_comparison():
    """Comparing, hashing and counting the value never end.

    timeout: 300
    verdict: returned timed_out
    """
    class Endless(dict):
        def __eq__(self, other):
            forever()

        __hash__ = __len__ = __iter__ = __bool__ = __class_getitem__ = __eq__

    return Endless(a=1)


def hang_in_an_exception():
    """The text of the exception never ends.

    timeout: 300
    verdict: raised timed_out
    """
    class Endless(Exception):
        def __str__(self):
            forever()

        __repr__ = __str__

    raise Endless


def lie_about_a_class():
    """An object claims to be of another class, with attributes that raise."""
    class Liar:
        @property
        def __class__(self):
            raise SystemExit

        def __getattribute__(self, name):
            raise KeyboardInterrupt

    return Liar()


def raise_what_is_no_exception():
    """Raises the classes that end an interpreter.

    verdict: raised crashed
    """
    raise KeyboardInterrupt(*["x" * 1000] * 1000)


def raise_an_endless_chain():
    """An exception that is its own cause.

    verdict: raised
    """
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def raise_a_huge_exception():
    """An exception with a text of 100 MB, notes and a traceback of 900 frames.

    verdict: raised out_of_memory
    """
    def deeper(depth):
        if depth:
            deeper(depth - 1)
        raise ValueError("x" * 100_000_000)

    deeper(900)


def return_a_huge_value():
    """A value of 100 MB."""
    return b"x" * 100_000_000


def return_a_deep_value():
    """A list in a list, 200,000 times.

    verdict: returned crashed
    """
    deep = []
    for _ in range(200_000):
        deep = [deep]
    return deep


def return_deep_dictionaries():
    """Dictionaries in each other, each of which takes three levels when it is written."""
    deep = 1
    for _ in range(40):
        deep = {0: deep}
    return deep


def return_a_value_in_itself():
    """A list that holds itself, under many names."""
    inner = []
    inner.append(inner)
    return {"a": inner, "b": [inner] * 1000}


def return_what_is_no_text():
    """Text with halves of characters and with null."""
    return ["\udc80\ud800", "a\0b", b"\xff\xfe", float("nan"), 1 << 100_000]


def print_without_end():
    """Prints 100 MB to both streams."""
    block = b"x" * (1 << 20)
    for _ in range(100):
        os.write(1, block)
        os.write(2, block)


def print_what_is_no_text():
    """Prints bytes that are no text, and null."""
    os.write(1, bytes(range(256)) * 100)
    os.write(2, b"\x1b]0;evil\x07\x9b31m\xc2\x9b")


def exit_at_once():
    """Leaves without a word.

    verdict: crashed
    """
    os._exit(0)


def exit_with_a_code():
    """Leaves with the code that a good call has.

    verdict: crashed
    """
    sys.exit(0)


def exit_in_a_thread():
    """A thread ends the process while the call goes on.

    verdict: crashed
    """
    threading.Thread(target=lambda: os._exit(0)).start()
    forever()


def replace_itself():
    """The process becomes another program.

    verdict: crashed
    """
    os.execv("/bin/true", ["true"])


def crash():
    """Reads what is not there.

    verdict: crashed
    """
    ctypes.string_at(0)


def crash_with_a_core():
    """Asks for a core file, and crashes.

    verdict: crashed
    """
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    except (OSError, ValueError):
        pass
    os.abort()


def kill_itself():
    """Kills itself with the signal that a timeout uses.

    verdict: crashed
    """
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def recurse():
    """Recurses without end.

    verdict: raised
    """
    return recurse()


def recurse_in_c():
    """Recurses without a limit, on the stack of C.

    verdict: crashed out_of_memory timed_out raised
    timeout: 3000
    """
    sys.setrecursionlimit(1 << 30)

    def deeper(_):
        return max((1,), key=deeper)

    deeper(0)


def close_everything():
    """Closes all descriptors, those of the harness too.

    verdict: returned crashed
    """
    os.closerange(0, 1024)


def replace_every_descriptor():
    """Puts a null device in the place of each descriptor.

    verdict: returned crashed
    """
    null = os.open("/dev/null", os.O_RDWR)
    for fd in fds():
        if fd != null:
            os.dup2(null, fd)


def write_to_every_descriptor():
    """Writes nonsense into each descriptor, as a message of the harness would be.

    verdict: returned crashed
    """
    for fd in fds():
        try:
            os.set_blocking(fd, False)
            for text in (b"{}\n", b"\0" * 64, b"\xff" * 64, b'{"verdict": "returned"}\n'):
                os.write(fd, text)
        except OSError:
            pass


def read_from_every_descriptor():
    """Reads what was meant for the harness.

    verdict: returned crashed
    """
    for fd in fds():
        try:
            os.set_blocking(fd, False)
            os.read(fd, 1 << 16)
        except OSError:
            pass


def shut_every_socket():
    """Ends both directions of each socket.

    verdict: returned crashed
    """
    for fd in fds():
        try:
            with socket.fromfd(fd, socket.AF_UNIX, socket.SOCK_STREAM) as one:
                one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def truncate_every_descriptor():
    """Truncates each file, so that mappings of it would fault.

    verdict: returned crashed
    """
    for fd in fds():
        try:
            os.ftruncate(fd, 0)
        except OSError:
            pass


def lock_every_descriptor():
    """Locks each file that is open."""
    for fd in fds():
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass


def take_all_resources():
    """Lowers its own limits to nothing."""
    for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_STACK", "RLIMIT_NPROC"):
        resource.setrlimit(getattr(resource, name), (0, 0))


def patch_the_library():
    """Replaces functions that a harness may use with those that raise."""
    import builtins
    import json
    import marshal

    def nonsense(*args, **kwargs):
        raise RuntimeError("patched")

    json.dumps = json.loads = marshal.dumps = marshal.loads = nonsense
    for name in ("_exit", "fork", "write", "read", "open", "close", "getpid", "waitpid"):
        setattr(os, name, nonsense)
    sys.modules.clear()
    builtins.__import__ = builtins.repr = builtins.len = builtins.type = nonsense


def trace_the_harness():
    """A profiler and a tracer that raise see the harness, too.

    verdict: returned raised
    """
    def trace(frame, event, argument):
        raise RuntimeError("traced")

    sys.setprofile(trace)
    sys.settrace(trace)
    threading.settrace(trace)


def change_frames_of_the_harness():
    """Local variables of the harness's frames are changed.

    verdict: returned raised crashed
    """
    frame = sys._getframe().f_back
    while frame is not None:
        for name in list(frame.f_locals):
            if not name.startswith("__"):
                frame.f_locals[name] = None
        # Before Python 3.13, what is written there must be brought into the frame.
        if sys.version_info < (3, 13):
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        frame.f_trace = lambda *_: None
        frame = frame.f_back


def empty_the_collector():
    """Clears every dictionary and list that the collector knows of the harness.

    verdict: returned crashed raised violated
    timeout: 3000
    """
    # The harness hides its objects from the collector.
    gc.unfreeze()
    own = [globals(), sys.modules, sys.__dict__, vars(os), vars(gc)]
    for found in gc.get_objects():
        if type(found) in (list, dict) and not any(found is one for one in own):
            try:
                found.clear()
            except Exception:
                pass


def block_the_injection_of_faults():
    """Init writes in the place of the guest, into a pipe that is full and never read.

    faults: disk_corruption
    timeout: 300
    verdict: timed_out
    """
    _, end = os.pipe()
    while True:
        os.write(end, b"x" * (1 << 20))


def make_a_million_files():
    """Makes files until there is no place.

    disk_mib: 2
    timeout: 30000
    verdict: out_of_disk
    """
    for number in range(1_000_000):
        os.close(os.open("f%d" % number, os.O_CREAT | os.O_WRONLY))


def make_deep_directories():
    """A directory in a directory, 1,000 times, each name as long as can be.

    timeout: 3000
    verdict: returned out_of_disk timed_out raised
    """
    for _ in range(1000):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)


def take_away_all_rights():
    """Leaves files and directories that its own user may not touch."""
    os.mkdir("closed")
    write("closed/file")
    os.chmod("closed", 0)
    os.chmod(".", 0)


def remove_the_repository():
    """Removes all files that it can."""
    import shutil

    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)


def leave_names_that_are_no_text():
    """Files whose names have control characters, or are no text, or are too long to show."""
    for name in (b"\x1b[2J", b"\xff\xfe", b"a\nb", b"n" * 255, b"\xc2\x9b31m", b"\xe2\x80\xae"):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))


def leave_special_files():
    """Pipes, sockets and links in a circle in the place of files of the repository."""
    os.remove("data.txt")
    os.mkfifo("data.txt")
    os.remove("old.txt")
    os.symlink("old.txt", "old.txt")
    try:
        socket.socket(socket.AF_UNIX).bind("left.sock")
    except OSError:
        pass


def replace_its_directory_by_a_link():
    """The working directory's names lead elsewhere when they are listed after the call."""
    shutil.move("package", "moved")
    os.symlink(CANARY_DIRECTORY, "package")
    os.symlink("/", "root")


def leave_a_lock():
    """Another process keeps a lock of a file of the repository."""
    file = open("data.txt", "a")
    fcntl.flock(file, fcntl.LOCK_EX)
    if os.fork() == 0:
        forever()


def leave_threads():
    """Threads that never end are left.

    verdict: returned
    """
    for _ in range(20):
        threading.Thread(target=forever, daemon=False).start()


def name_threads_and_processes():
    """Names with control characters for what is left."""
    threading.Thread(target=forever, name="\x1b[2J\u202e", daemon=True).start()
    libc.prctl(15, b"\x1b[31m\n\xff", 0, 0, 0)


def flood_violations():
    """Ten thousand forbidden things are tried at once.

    verdict: violated
    timeout: 8000
    """
    for number in range(3_000):
        try:
            open("/etc/shadow-%d" % number)
        except OSError:
            pass
        libc.open(b"/etc/shadow", os.O_RDONLY)


def change_the_clock():
    """Sets the clock that the sandbox measures with.

    verdict: violated
    """
    return must_fail(lambda: time.clock_settime(time.CLOCK_REALTIME, 0))


def patch_the_clock():
    """Time stands still for Python: the limit of time must hold all the same.

    timeout: 200
    verdict: timed_out
    """
    for name in ("time", "monotonic", "perf_counter", "perf_counter_ns", "monotonic_ns"):
        setattr(time, name, lambda: 0)
    while True:
        pass
