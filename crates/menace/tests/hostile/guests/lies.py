"""Lies about a call: reports are forged, evidence is suppressed, faults are switched off."""

import ctypes
import gc
import mmap
import os
import signal
import sys
import time

from hostile_tools import *


def fine():
    return "fine"


def frame_with(*names):
    """The nearest frame of the harness with these local variables."""
    frame = sys._getframe()
    while frame is not None:
        if all(name in frame.f_locals for name in names):
            return frame
        frame = frame.f_back
    raise LookupError(names)


def publish():
    """Writes a report of success with the harness's own functions."""
    frame = frame_with("zygote", "progress", "description_limits")
    zygote, progress, description_limits = map(
        frame.f_locals.get, ("zygote", "progress", "description_limits")
    )
    progress.result_kind = "returned"
    frame.f_globals["publish"](zygote, progress, description_limits)


def report_and_die():
    """Reports success, then dies by a signal.

    open: the report in shared memory is believed, whatever the process's end was
    verdict: crashed violated
    """
    publish()
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def report_and_hang():
    """Reports success, then never ends.

    timeout: 300
    open: the report in shared memory is believed, whatever the process's end was
    verdict: timed_out violated
    """
    publish()
    forever()


def report_and_exit():
    """Reports success, then exits with a code of its own.

    open: the report in shared memory is believed, whatever the process's end was
    verdict: crashed violated
    """
    publish()
    os._exit(3)


def write_nonsense_into_the_mailbox():
    """Every byte of the shared memory is overwritten, again and again, while the call ends.

    verdict: returned crashed violated raised
    """
    for found in gc.get_objects():
        if type(found) is mmap.mmap:
            found[:] = b"\xff" * len(found)
    frame = frame_with("zygote")
    memory = frame.f_locals["zygote"].mailbox.map
    memory[:] = b"\xff" * len(memory)


def claim_a_huge_report():
    """The lengths in the shared memory exceed it, and the process dies.

    verdict: crashed violated
    """
    memory = frame_with("zygote").f_locals["zygote"].mailbox.map
    for at in (8, 12):
        memory[at : at + 4] = b"\xff\xff\xff\x7f"
    memory[4] = 3
    os._exit(0)


def claim_a_deep_report():
    """The report is nested a hundred thousand times, which a parser may recurse into.

    verdict: crashed violated
    """
    memory = frame_with("zygote").f_locals["zygote"].mailbox.map
    data = b"[\x01\0\0\0" * 100_000 + b"N"
    data = data[: len(memory) - 65536]
    memory[65536 : 65536 + len(data)] = data
    memory[12:16] = len(data).to_bytes(4, "little")
    memory[4] = 3
    os._exit(0)


def forge_frames_of_the_harness():
    """Messages of the harness are sent to init: that the call has ended, that another was forked.

    verdict: returned crashed violated
    """
    import marshal

    for message in (
        {"op": "reaped", "pid": os.getpid(), "status": 0, "utime": 0.0, "stime": 0.0, "maxrss": 1},
        {"op": "forked", "pid": 1},
        {"op": "swept"},
    ):
        data = marshal.dumps(message, 2)
        frame = b"MNC2" + len(data).to_bytes(4, "little") + data
        for fd in fds():
            try:
                os.set_blocking(fd, False)
                os.write(fd, frame)
            except OSError:
                pass


def erase_a_violation():
    """A violation is tried, and its record in shared memory erased.

    verdict: violated
    """
    try:
        open("/etc/shadow").close()
    except OSError:
        pass
    memory = frame_with("zygote").f_locals["zygote"].mailbox.map
    memory[44] = 0
    memory[32768:65536] = b"\0" * 32768


def stop_the_audit():
    """Python's audit is switched off before a violation is tried.

    verdict: violated
    """
    for found in gc.get_objects():
        if type(found).__name__ == "Audit":
            found.listening = False
    zygote = frame_with("zygote").f_locals["zygote"]
    for name in ("audit", "state"):
        holder = getattr(zygote, name, None)
        if hasattr(holder, "listening"):
            holder.listening = False
    try:
        open("/etc/shadow").close()
    except OSError:
        pass


def flood_the_record_of_violations():
    """Other files are probed first, until the record is full: a secret is tried after that.

    open: opening a file after 256 others were probed is refused, but not recorded
    verdict: violated
    timeout: 8000
    """
    for number in range(400):
        libc.open(b"/etc/nothing-%d" % number, os.O_RDONLY)
    libc.open(b"/etc/shadow", os.O_RDONLY)


def use_the_flag_of_the_harness():
    """Files are opened with the flag that spares the harness from being interposed.

    verdict: violated returned
    """
    for bit in range(3, 32):
        fd = libc.open(b"/etc/shadow", 1 << bit)
        # One bit asks for a descriptor that stands for the path and opens nothing.
        if fd >= 0 and must_fail(lambda: os.read(fd, 1)) != "refused":
            return "ESCAPED"
    return "refused"


def switch_off_faults():
    """One byte of the shared memory says that the section is not running, so that nothing fails.

    faults: disk
    open: the byte that switches faults on is in memory that the guest can write
    verdict: raised violated
    """
    memory = frame_with("zygote").f_locals["zygote"].mailbox.map
    memory[5] = 0
    write("new.txt")
    memory[5] = 1
    return "ESCAPED: the fault was not injected"


def claim_no_time():
    """The clock that the report is made with stands still."""
    time.sleep(0.05)
    for name in ("perf_counter_ns", "process_time_ns", "monotonic_ns", "time_ns"):
        setattr(time, name, lambda: 0)
    progress = frame_with("progress").f_locals["progress"]
    for name in ("started", "started_ns", "start"):
        if hasattr(progress, name):
            try:
                setattr(progress, name, 1 << 62)
            except (AttributeError, TypeError):
                pass


def claim_to_be_the_call():
    """A child of the call goes on in its place, and reports.

    verdict: returned crashed violated raised timed_out
    timeout: 500
    """
    if os.fork():
        os._exit(0)


def return_in_a_child_too():
    """The call returns twice, once in a child: only one report counts."""
    os.fork()
    return os.getpid()


def rename_its_function():
    """The section and its module change their names while they run."""
    import lies

    lies.__name__ = lies.__file__ = "\x1b[2J"
    code = rename_its_function.__code__
    rename_its_function.__code__ = code.replace(co_name="\x1b[31m", co_filename="/etc/passwd")
    rename_its_function.__qualname__ = "\u202e"


def raise_from_the_password_file():
    """A traceback names a file of the host, whose lines would be shown with it.

    verdict: raised
    """
    code = compile("\n" * 3 + "raise ValueError('see there')", CANARY, "exec")
    exec(code, {"__file__": CANARY})
