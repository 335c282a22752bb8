"""Exchanges a directory and a link that leads outside, again and again.

The import leaves both; $RACER says what exchanges them afterwards:

thread   a thread of the warm interpreter, which is started when the import is over
timer    the same, and a timer wakes the interpreter whenever it is stopped
fork     the process that is forked for a call, before the call
late     a process that a thread of the interpreter forks when a call has ended
daemon   a process that the import leaves, at once
"""

import _thread
import ctypes
import os
import signal
import time

TOP = os.path.dirname(os.path.abspath(__file__))
ROOM = os.path.join(TOP, "room")
LINK = os.path.join(TOP, "link")
RACER = os.environ["RACER"]
NAMES = [str(number) for number in range(int(os.environ["FILES"]))]
# It takes a while to look at these, which is when others are stopped or started.
BALLAST = os.path.join(TOP, "ballast")
# Directories that must be opened up to be looked into, and links beside them.
CLOSED = [
    (os.path.join(TOP, "closed-" + name), os.path.join(TOP, "to-" + name)) for name in NAMES[:60]
]
AT_FDCWD = -100
RENAME_EXCHANGE = 2
CLOCK_MONOTONIC = 1
libc = ctypes.CDLL(None)
renameat2 = libc.renameat2
started = []
calls = []

os.mkdir(ROOM)
os.symlink(os.environ["VICTIM"], LINK)
for name in NAMES:
    with open(os.path.join(ROOM, name), "w") as file:
        file.write("by the import")


def leave_ballast():
    os.mkdir(BALLAST)
    for number in range(1000):
        os.symlink("nowhere", os.path.join(BALLAST, str(number)))


def race(seconds, pairs=((ROOM, LINK),), meanwhile=lambda: None):
    pairs = [(os.fsencode(one), os.fsencode(other)) for one, other in pairs]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        meanwhile()
        for one, other in pairs:
            renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)


def start(function, *arguments):
    if not started:
        started.append(_thread.start_new_thread(function, arguments))


class Event(ctypes.Structure):
    """What a timer does."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    ]


def race_and_wake(seconds):
    """Whenever everything here is stopped, it goes on a few milliseconds later."""
    timer, event = ctypes.c_void_p(), Event(signal=signal.SIGCONT)
    assert libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0
    soon = (ctypes.c_long * 4)(0, 0, 0, 8_000_000)
    race(seconds, meanwhile=lambda: libc.timer_settime(timer, 0, soon, None))


def open_pipe():
    if not started or _thread.get_ident() != started[0]:
        calls.append(os.pipe())


def keep_writing_end():
    if calls:
        os.close(calls[-1][0])


def keep_reading_end():
    if not started or _thread.get_ident() != started[0]:
        os.close(calls[-1][1])
        start(fork_late)


def fork_late():
    """Once init no longer looks for processes, and before the interpreter is stopped."""
    turn = 0
    while True:
        while turn == len(calls):
            time.sleep(0.001)
        # The other end is closed when the call is over.
        os.read(calls[turn][0], 1)
        time.sleep(0.003 * (1 + turn % 4))
        turn += 1
        racer = os.fork()
        if racer == 0:
            race(0.2)
            os._exit(0)
        os.waitpid(racer, 0)


def leave_daemon():
    for closed, link in CLOSED:
        os.mkdir(closed, 0)
        os.symlink(os.environ["VICTIM"], link)
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            race(60, [(ROOM, LINK), *CLOSED])
        os._exit(0)
    os.wait()


def at_forks_in_c(*functions):
    """Before each fork, in the parent and in the child; Python knows of none of them."""
    handlers.extend(ctypes.CFUNCTYPE(None)(function) for function in functions)
    libc["__register_atfork"](*handlers, None)


def nothing():
    pass


handlers = []
if RACER == "thread":
    at_forks_in_c(nothing, lambda: start(race, 60), nothing)
elif RACER == "timer":
    leave_ballast()
    at_forks_in_c(nothing, lambda: start(race_and_wake, 60), nothing)
elif RACER == "fork":
    at_forks_in_c(nothing, nothing, lambda: race(0.2))
elif RACER == "late":
    leave_ballast()
    at_forks_in_c(open_pipe, keep_reading_end, keep_writing_end)
elif RACER == "daemon":
    leave_daemon()


def scribble():
    room = open_room()
    for name in NAMES:
        file = os.open(name, os.O_RDWR, dir_fd=room)
        found = os.pread(file, 100, 0)
        assert found == b"by the import", (name, found)
        os.pwrite(file, b"by a call", 0)
        os.close(file)


def open_room():
    while True:
        for path in (ROOM, LINK):
            try:
                return os.open(path, os.O_DIRECTORY | os.O_NOFOLLOW)
            except OSError:
                pass  # At the moment this is the link.
