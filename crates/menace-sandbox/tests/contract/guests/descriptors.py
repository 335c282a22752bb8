"""Closes, fills and forges what it finds open."""

import ctypes
import marshal
import os
import sys


def fine():
    return "fine"


def close(first, last):
    os.closerange(first, last)
    return 7


def close_in_c():
    libc = ctypes.CDLL(None)
    for number in range(2048):
        libc.close(number)
    return 7


def write_everywhere():
    written = []
    for number in range(2048):
        try:
            os.write(number, b"MNC2\xff\xff\xff\xff" * 100)
        except OSError:
            continue
        try:
            written.append("%d %s" % (number, os.readlink("/proc/self/fd/%d" % number)))
        except OSError:
            written.append("%d ?" % number)
    return written


OWN = 904  # As its output, every call has it anyway.


def write_to_the_interpreter():
    """Reaches for what the interpreter that was forked has open."""
    done = []
    parent = "/proc/%d/fd" % os.getppid()
    for number in [1, 2, *range(900, 910)]:
        try:
            fd = os.open("%s/%d" % (parent, number), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        if number >= 900 and number != OWN:
            done.append(number)
        os.write(fd, b"!" * 64)
    return done


def write_into_the_interpreter():
    """Reaches for the memory of the interpreter that was forked."""
    try:
        with open("/proc/%d/mem" % os.getppid(), "r+b", buffering=0) as memory:
            memory.seek(id(fine.__code__.co_consts[1]) + 48)
            memory.write(b"evil")
        return "written"
    except OSError as error:
        return type(error).__name__


def exchange_the_output():
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    os.write(1, b"into the pipe")
    return os.read(reader, 100).decode()


def make_output_non_blocking():
    os.set_blocking(1, False)
    os.set_blocking(2, False)
    return 7


def print_much():
    for _ in range(40):
        os.write(1, b"x" * (100 << 10))
    return 7


def tamper_the_mailbox(byte):
    """Overwrites every shared mapping that it finds, then dies without a report."""
    tampered = 0
    try:
        maps = open("/proc/self/maps")
    except OSError:
        os._exit(41)
    with maps:
        for line in maps:
            addresses, rights, _, _, _, *path = line.split()
            if rights.startswith("rw") and rights.endswith("s"):
                start, end = (int(address, 16) for address in addresses.split("-"))
                ctypes.memset(start, byte, end - start)
                tampered += 1
    os._exit(40 + tampered)


def mailbox():
    """The memory through which reports leave."""
    frame = sys._getframe()
    while "zygote" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["zygote"].mailbox.map


def leave_in_the_mailbox(at):
    """How much others left there; leaves something as well."""
    memory = mailbox()
    content = bytes(memory)
    # Its own magic number, state and request number are in front.
    memory[at : at + 6] = b"secret"
    return len(content[24:].replace(b"\0", b""))


def forge_a_report():
    """Claims to have taken more time than there is."""
    memory = mailbox()
    endless = 1 << 62
    claim = {"kind": "returned", "stage": "call", "value": None, "wall_ns": endless}
    report = marshal.dumps(dict(claim, user_ns=endless, system_ns=endless), 2)
    memory[65536 : 65536 + len(report)] = report
    memory[12:16] = len(report).to_bytes(4, "little")
    memory[4] = 3
    os._exit(0)
