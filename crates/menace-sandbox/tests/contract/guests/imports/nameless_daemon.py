"""Leaves a process that nothing but its command line tells from others. `HOW` and `NAP` are above."""

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


def end_interpreter():
    if HOW == "fork":
        os._exit(1)


if HOW == "fork":
    os.register_at_fork(after_in_child=leave_daemon, after_in_parent=end_interpreter)
elif HOW != "call":
    leave_daemon()
    if HOW == "raise":
        raise ValueError("on purpose")
    if HOW == "exit":
        os._exit(3)
    if HOW == "hang":
        time.sleep(60)
