"""Lies about a call: reports are forged, evidence is suppressed, faults are switched off."""

import gc
import marshal
import os
import signal
import threading
import time

from hostile_tools import *


def fine():
    return "fine"


# Where `init/mailbox.rs` has them.
REPORT_STATE, PAUSED, SHORT_LENGTH, FULL_LENGTH = 4, 5, 8, 12
VIOLATIONS, SECTION = 44, 48
SHORT_AT, VIOLATIONS_AT, FULL_AT = 64, 32768, 65536
SHORT_REPORT, FULL_REPORT = 2, 3


def publish():
    """Writes a report of success with the harness's own functions."""
    frame = frame_with("zygote", "progress", "description_limits")
    zygote, progress, description_limits = map(
        frame.f_locals.get, ("zygote", "progress", "description_limits")
    )
    memory = mailbox()
    progress.result_kind = "returned"
    frame.f_globals["publish"](zygote, progress, description_limits)
    if memory[REPORT_STATE] != FULL_REPORT:
        raise AttemptBroken("nothing was published")


def forge(report_state, length_at, report_at):
    """Writes a report of success by hand."""
    value = {"type": "str", "repr": "'ESCAPED'", "hash": None, "value": "ESCAPED", "length": 7}
    report = {"kind": "returned", "stage": "call", "value": value, "exception": None}
    data, memory = marshal.dumps(report, 2), mailbox()
    memory[report_at : report_at + len(data)] = data
    memory[length_at : length_at + 4] = len(data).to_bytes(4, "little")
    memory[REPORT_STATE] = report_state


def set_section(number):
    mailbox()[SECTION : SECTION + 4] = number.to_bytes(4, "little")


def section():
    """The number of the section that runs: faults are injected into it."""
    number = int.from_bytes(mailbox()[SECTION : SECTION + 4], "little")
    if number % 2 != 1:
        raise AttemptBroken("no section runs: %d" % number)
    return number


def report_and_die():
    """Reports success, then dies by a signal.

    verdict: violated
    """
    publish()
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def report_and_hang():
    """Reports success, then never ends.

    timeout: 300
    verdict: violated
    """
    publish()
    forever()


def report_and_exit():
    """Reports success, then exits with a code of its own.

    verdict: violated
    """
    publish()
    os._exit(3)


def report_and_exit_as_without_a_report():
    """Reports success, then exits with the code that the harness has for a missing report.

    verdict: violated
    """
    publish()
    os._exit(73)


def report_in_a_child_and_die():
    """A child reports success and ends well; the process of the call dies.

    verdict: violated
    """
    if os.fork() == 0:
        publish()
        os._exit(0)
    os.wait()
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def forge_a_report_and_die():
    """Writes the bytes of a report, then dies by a signal.

    verdict: violated
    """
    forge(FULL_REPORT, FULL_LENGTH, FULL_AT)
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def forge_a_short_report_and_die():
    """Writes the report that the harness writes before it describes a result, then dies.

    verdict: crashed
    """
    forge(SHORT_REPORT, SHORT_LENGTH, SHORT_AT)
    os.kill(os.getpid(), signal.SIGKILL)
    forever()


def forge_a_short_report_and_hang():
    """The same, and never ends: the result was never there.

    timeout: 300
    verdict: timed_out
    """
    forge(SHORT_REPORT, SHORT_LENGTH, SHORT_AT)
    forever()


def write_nonsense_into_the_mailbox():
    """Every byte of the shared memory is overwritten, again and again, while the call ends.

    verdict: returned crashed violated raised
    """
    memory = mailbox()
    nonsense = b"\xff" * len(memory)

    def work():
        while True:
            memory[:] = nonsense

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.02)


def write_nonsense_below_a_good_head():
    """All but the head of the shared memory, which says that there is a full report, is nonsense.

    verdict: crashed violated
    """
    memory = mailbox()
    memory[SHORT_AT:] = b"\xff" * (len(memory) - SHORT_AT)
    memory[32:44] = b"\xff" * 12
    memory[FULL_LENGTH : FULL_LENGTH + 4] = (1 << 20).to_bytes(4, "little")
    memory[REPORT_STATE] = FULL_REPORT
    os._exit(0)


def claim_a_huge_report():
    """The lengths in the shared memory exceed it, and the process ends well.

    verdict: crashed violated
    """
    memory = mailbox()
    for at in (SHORT_LENGTH, FULL_LENGTH):
        memory[at : at + 4] = b"\xff\xff\xff\x7f"
    memory[REPORT_STATE] = FULL_REPORT
    os._exit(0)


def claim_a_deep_report():
    """The report is nested a hundred thousand times, which a parser may recurse into.

    verdict: crashed violated
    """
    memory = mailbox()
    data = b"[\x01\0\0\0" * 100_000 + b"N"
    memory[FULL_AT : FULL_AT + len(data)] = data
    memory[FULL_LENGTH : FULL_LENGTH + 4] = len(data).to_bytes(4, "little")
    memory[REPORT_STATE] = FULL_REPORT
    os._exit(0)


def claim_a_report_of_many_items():
    """The report is a list of four million items, each of which takes more memory when read.

    verdict: crashed violated
    """
    memory = mailbox()
    count = len(memory) - FULL_AT - 5
    memory[FULL_AT : FULL_AT + 5] = b"[" + count.to_bytes(4, "little")
    memory[FULL_AT + 5 :] = b"N" * count
    memory[FULL_LENGTH : FULL_LENGTH + 4] = (count + 5).to_bytes(4, "little")
    memory[REPORT_STATE] = FULL_REPORT
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
    memory = mailbox()
    memory[VIOLATIONS] = 0
    memory[VIOLATIONS_AT:FULL_AT] = b"\0" * (FULL_AT - VIOLATIONS_AT)


def stop_the_audit():
    """Python's audit is switched off before a violation is tried.

    verdict: violated
    """
    frame_with("zygote").f_locals["zygote"].audit.listening = False
    # The harness hides its objects from the collector.
    gc.unfreeze()
    for found in gc.get_objects():
        if type(found).__name__ == "Audit":
            found.listening = False
    try:
        open("/etc/shadow").close()
    except OSError:
        pass


def flood_the_record_of_violations():
    """Other files are probed first, until the record is full: a secret is tried after that.

    verdict: violated
    timeout: 8000
    """
    for number in range(1500):
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


def meet_a_fault():
    """The fault that the next attempts switch off is injected when nothing does.

    faults: disk
    verdict: raised
    """
    section()
    write("new.txt")
    return "ESCAPED: the fault was not injected"


def pause_faults():
    """One byte says that the harness itself writes, so that nothing fails.

    faults: disk
    verdict: violated
    """
    section()
    memory = mailbox()
    memory[PAUSED] = 1
    write("new.txt")
    memory[PAUSED] = 0
    return "ESCAPED: the fault was not injected"


def end_the_section_early():
    """The mark says that the section has ended, so that nothing fails.

    faults: disk
    verdict: violated
    """
    set_section(section() + 1)
    write("new.txt")
    return "ESCAPED: the fault was not injected"


def end_the_section_for_a_moment():
    """The mark says that the section has ended, and later that it runs.

    faults: disk
    verdict: violated
    """
    number = section()
    set_section(number + 1)
    write("new.txt")
    set_section(number)
    return "ESCAPED: the fault was not injected"


def begin_another_section():
    """The mark names a section that was never begun.

    faults: disk
    verdict: violated raised
    """
    set_section(section() + 2)
    write("new.txt")
    return "ESCAPED: the fault was not injected"


def claim_no_time():
    """The clock that the report is made with stands still: the time of the whole call does not.

    least_total_ms: 50
    """
    time.sleep(0.05)
    for name in ("perf_counter_ns", "process_time_ns", "monotonic_ns", "time_ns"):
        setattr(time, name, lambda: 0)
    progress = frame_with("progress").f_locals["progress"]
    if progress._began is None:
        raise AttemptBroken("the clock does not run")
    progress._began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def claim_negative_time():
    """The call is said to have ended long before it began.

    least_total_ms: 50
    """
    time.sleep(0.05)
    progress = frame_with("progress").f_locals["progress"]
    if progress._began is None:
        raise AttemptBroken("the clock does not run")
    progress._began = 1 << 62


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
