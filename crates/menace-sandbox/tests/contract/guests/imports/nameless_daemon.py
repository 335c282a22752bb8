"""Leaves a process that only its command line identifies. `HOW` and `NAP` are above."""

import ctypes
import os
import time


def leave_daemon():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep", NAP], {})
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    # Closed when the program has started.
    os.read(reader, 1)
    os.close(reader)


def fine():
    return "fine"


def leave_and_wait():
    leave_daemon()
    time.sleep(60)


INTERPRETER = os.getpid()


def end_interpreter():
    """In the parent, once the child has left its daemon."""
    if os.getpid() == INTERPRETER:
        os.close(PIPE[1])
        os.read(PIPE[0], 1)
        os._exit(1)


def leave_daemon_and_tell():
    if os.getppid() == INTERPRETER:
        leave_daemon()
        os.close(PIPE[1])


if HOW == "fork":
    PIPE = os.pipe()
    HANDLERS = [ctypes.CFUNCTYPE(None)(it) for it in (end_interpreter, leave_daemon_and_tell)]
    # Python knows of these no more than of any code in C.
    ctypes.CDLL(None)["__register_atfork"](None, *HANDLERS, None)
elif HOW != "call":
    leave_daemon()
    if HOW == "raise":
        raise ValueError("on purpose")
    if HOW == "exit":
        os._exit(3)
    if HOW == "hang":
        time.sleep(60)
