"""Everything that a function should not do to its caller."""

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import threading
import time


def fine():
    return "fine"


def loop():
    while True:
        pass


def loop_in_c():
    # One bytecode that never ends: no signal handler of Python's own would run.
    return 10**9 ** 9


def sleep():
    time.sleep(3600)


def ignore_signals():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    blocked = set(range(1, 65)) - {32, 33}
    signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    while True:
        time.sleep(1)


def fork_bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def bomb_of_programs():
    while True:
        try:
            os.posix_spawn("/bin/sleep", ["sleep", "3600"], {})
        except OSError:
            time.sleep(0.001)


def daemonise():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.closerange(0, 3)
            while True:
                time.sleep(1)
        os._exit(0)
    os.wait()
    # Until the daemon has no parent left.
    time.sleep(0.05)
    return "left a daemon"


def leave_a_program():
    subprocess.Popen(["sleep", "3600"], start_new_session=True)
    return "left a program"


def exit_at_once(code):
    os._exit(code)


def ask_to_exit(code):
    sys.exit(code)


def segfault():
    ctypes.string_at(0)


def abort():
    os.abort()


def kill_itself(number):
    os.kill(os.getpid(), number)
    time.sleep(10)


def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)
    return "went on"


def allocate_ten_gigabytes():
    return len(bytearray(10 << 30))


def map_ten_gigabytes():
    memory = mmap.mmap(-1, 10 << 30)
    for at in range(0, len(memory), 4096):
        memory[at] = 1
    return "mapped"


def write_ten_gigabytes():
    block = b"x" * (1 << 20)
    with open("big.bin", "wb", buffering=0) as file:
        for _ in range(10 << 10):
            file.write(block)
    return "written"


def make_a_hole():
    with open("hole.bin", "wb") as file:
        file.seek(10 << 30)
        file.write(b"x")
    return "written"


def make_a_million_files():
    os.mkdir("many")
    for number in range(1_000_000):
        os.close(os.open("many/%d" % number, os.O_CREAT | os.O_WRONLY))
    return "made"


def nest_directories():
    for _ in range(3000):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    return "nested"


def print_a_gigabyte():
    block = b"x" * (1 << 20)
    for _ in range(1 << 10):
        os.write(1, block)
    return "printed"


def return_much():
    return b"x" * 100_000_000


def return_many():
    return [[i] for i in range(3_000_000)]


def return_deep():
    deep = []
    for _ in range(200_000):
        deep = [deep]
    return deep


def recurse():
    return recurse()


def recurse_without_limit():
    sys.setrecursionlimit(1 << 30)
    return recurse_in_c(0)


def recurse_in_c(n):
    return max((n,), key=recurse_in_c)


def leak_threads():
    for number in range(20):
        thread = threading.Thread(target=time.sleep, args=(3600,), name="leak-%d" % number)
        thread.daemon = number % 2 == 0
        thread.start()
    return "left threads"


def patch_everything():
    import builtins
    import gc
    import json
    import marshal

    def nonsense(*args, **kwargs):
        raise RuntimeError("patched")

    gc.disable()
    json.dumps = json.loads = marshal.dumps = marshal.loads = nonsense
    for name in ("time", "monotonic", "perf_counter", "perf_counter_ns", "process_time_ns"):
        setattr(time, name, lambda: -1)
    for name in ("_exit", "fork", "write", "read", "open", "close", "getpid", "waitpid", "stat"):
        setattr(os, name, nonsense)
        setattr(sys.modules["posix"], name, nonsense)
    sys.exit = sys.exc_info = sys.getsizeof = sys.getframe = nonsense
    sys.stdout = sys.stderr = sys.excepthook = sys.unraisablehook = None
    sys.setrecursionlimit(70)
    sys.path[:] = []
    sys.meta_path[:] = []
    sys.modules.clear()
    put = setattr
    for name in list(vars(builtins)):
        if not name.startswith("__"):
            put(builtins, name, nonsense)
    builtins.__import__ = nonsense
    builtins.__build_class__ = nonsense
    return 7


def trace_everything():
    def trace(frame, event, argument):
        raise RuntimeError("traced")

    sys.setprofile(trace)
    sys.settrace(trace)
    threading.settrace(trace)
    return 7


def register_at_exit():
    import atexit

    atexit.register(time.sleep, 3600)
    threading._register_atexit(time.sleep, 3600) if hasattr(threading, "_register_atexit") else None
    return 7


def take_away_rights():
    os.mkdir("closed")
    with open("closed/file", "w") as file:
        file.write("x")
    os.chmod("closed/file", 0)
    os.chmod("closed", 0)
    os.chmod(".", 0)
    return "closed"


def remove_everything():
    import shutil

    for name in os.listdir("."):
        if os.path.isdir(name):
            shutil.rmtree(name)
        else:
            os.remove(name)
    return os.listdir(".")


def starve_itself():
    import resource

    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    return "starved"
