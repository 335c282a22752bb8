"""Determines whether threads wait, from the kernel's view of them.

Where `/proc` cannot be read (there is none without namespaces), a thread's
CPU clock shows at least whether it makes progress. Invariant: nothing here blocks, and where the
kernel gives no information, the state is `UNKNOWN`.
"""

from __future__ import annotations

from _thread import get_ident
from posix import O_CLOEXEC, O_RDONLY, close, listdir, open, read, uname
from time import clock_gettime_ns, pthread_getcpuclockid

TASKS = "/proc/self/task"
FUTEX = {"x86_64": b"202", "aarch64": b"98"}.get(uname().machine)
RUNS, WAITS, WAITS_FOREVER = "runs", "waits", "waits for ever"
# A lock that the guest waits for with a timeout looks like one of the interpreter.
TIMED, UNKNOWN = "waits for a time", "unknown"


def state(thread: int) -> str:
    """What the thread with this native id is doing."""
    try:
        descriptor = open(TASKS + "/" + str(thread) + "/syscall", O_RDONLY | O_CLOEXEC)
        try:
            words = read(descriptor, 256).split()
        finally:
            close(descriptor)
    except OSError:
        return UNKNOWN
    if not words or words[0] == b"running":
        return RUNS
    if FUTEX is None or words[0] == b"-1":
        return UNKNOWN
    if words[0] != FUTEX:
        return WAITS
    return WAITS_FOREVER if len(words) > 4 and words[4] == b"0x0" else TIMED


def own_clock() -> int:
    """The CPU clock of this thread, which other threads can read as well."""
    return pthread_getcpuclockid(get_ident())


def time_of(clock: int) -> int | None:
    """The time of a CPU clock; `None` once its thread has ended."""
    try:
        return clock_gettime_ns(clock)
    except OSError:
        return None


def all_wait_forever(but: int) -> bool:
    """Whether every thread of the process but this one waits for a lock and nothing else."""
    try:
        threads = [int(name) for name in listdir(TASKS)]
    except OSError:
        return False
    return all(state(thread) == WAITS_FOREVER for thread in threads if thread != but)
