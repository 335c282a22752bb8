"""Says of itself what is not true: in the mailbox, about faults, and by drowning what it did."""

import ctypes
import marshal
import os
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
# Of the short and of the full report: where it is, and where its length.
PLACES = {2: (64, 8), 3: (65536, 12)}
SECTION_AT, PAUSED_AT = 48, 5
SYS_UNSHARE = {"x86_64": 272, "aarch64": 97}[os.uname().machine]
CLONE_NEWUSER = 0x10000000
AF_INET, SOCK_RAW = 2, 3


def fine():
    return "fine"


def mailbox():
    """The harness's own mapping, found where every Python code can look."""
    frame = sys._getframe()
    while frame is not None:
        for name in ("zygote", "self"):
            found = frame.f_locals.get(name)
            if type(found).__name__ == "Zygote":
                return found.mailbox.map
        frame = frame.f_back
    raise LookupError("no mailbox")


def forge(report_state, kind="returned"):
    """Writes the report of a call that returned what was never there."""
    value = {"type": "str", "repr": "'forged'", "hash": None, "value": "forged", "length": 6}
    exception = {"type": "ValueError", "message": "forged"} if kind == "raised" else None
    report = {"kind": kind, "stage": "call", "value": value, "exception": exception}
    data = marshal.dumps(report, 2)
    memory = mailbox()
    at, length = PLACES[report_state]
    memory[at : at + len(data)] = data
    memory[length : length + 4] = len(data).to_bytes(4, "little")
    memory[4] = report_state


def forge_and_die(report_state, number, kind="returned"):
    forge(report_state, kind)
    os.kill(os.getpid(), number)
    time.sleep(3600)


def forge_and_leave(report_state, code):
    forge(report_state)
    os._exit(code)


def forge_and_hang(report_state):
    forge(report_state)
    while True:
        signal.pause()


def forge_in_a_fork(report_state):
    """The process of the call itself says nothing before it dies."""
    child = os.fork()
    if child == 0:
        forge(report_state)
        os._exit(0)
    os.waitpid(child, 0)
    os.abort()


def crash_when_described():
    class Crash:
        def __repr__(self):
            os.abort()

    return Crash()


def put(item):
    return item


def flood_system_calls(count):
    """Many refused attempts of one kind before one of another."""
    for number in range(count):
        libc.socket(AF_INET, SOCK_RAW, number)
    libc.syscall(ctypes.c_long(SYS_UNSHARE), ctypes.c_long(CLONE_NEWUSER))
    return "done"


def flood_files(count, path):
    """Many files that are not there before one that is, in C alone."""
    libc.open.restype = ctypes.c_int
    for number in range(count):
        libc.open(b"/nowhere/%d" % number, os.O_RDONLY)
    return libc.open(path.encode(), os.O_RDONLY) < 0


def flood_python(count, path):
    """Many files that are not there before a directory that is, as Python sees them."""
    for number in range(count):
        try:
            open("/nowhere/%d" % number)
        except OSError:
            pass
    try:
        return os.listdir(path)
    except OSError:
        return "refused"


def write_lines(count):
    done = 0
    try:
        with open("lines.txt", "wb", buffering=0) as file:
            for _ in range(count):
                file.write(b"line\n")
                done += 1
    except OSError:
        pass
    return done


def section():
    return int.from_bytes(mailbox()[SECTION_AT : SECTION_AT + 4], "little")


def set_section(number):
    mailbox()[SECTION_AT : SECTION_AT + 4] = number.to_bytes(4, "little")


def end_section_early(restores):
    """Writes while init believes that the section has ended."""
    number = section()
    set_section(number + 1)
    done = write_lines(10)
    if restores:
        set_section(number)
    return done


def begin_section_again():
    """Lets init see that the section runs, has ended, and runs once more."""
    write_lines(1)
    number = section()
    set_section(number + 1)
    done = write_lines(10)
    set_section(number)
    write_lines(1)
    return done


def pause_faults():
    mailbox()[PAUSED_AT] = 1
    done = write_lines(10)
    mailbox()[PAUSED_AT] = 0
    return done
