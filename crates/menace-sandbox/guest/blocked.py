"""Whether threads wait for something, as the kernel sees it.

Where `/proc` cannot be read (there is none without namespaces), the clock that counts a thread's
processor time at least tells whether it stands still. Invariant: nothing here waits itself, and where
the kernel does not tell, nothing is claimed.
"""

from time import clock_gettime_ns, pthread_getcpuclockid

from _thread import get_ident
from posix import O_CLOEXEC, O_RDONLY, close, listdir, open, read, uname

TASKS = "/proc/self/task"
FUTEX = {"x86_64": b"202", "aarch64": b"98"}.get(uname().machine)
RUNS, WAITS, WAITS_FOR_EVER = "runs", "waits", "waits for ever"
# With a timeout, a lock of the guest's looks like the interpreter's own.
TIMED, UNKNOWN = "waits for a time", "unknown"


def state(thread):
    """What a thread, known by the kernel's number, is doing."""
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
    return WAITS_FOR_EVER if len(words) > 4 and words[4] == b"0x0" else TIMED


def own_clock():
    """The clock of this thread's processor time, which others can read as well."""
    return pthread_getcpuclockid(get_ident())


def time_of(clock):
    """What it shows; `None` once the thread has ended."""
    try:
        return clock_gettime_ns(clock)
    except OSError:
        return None


def all_wait_for_ever(but):
    """Whether every thread of the process, one excepted, waits for a lock and nothing else."""
    try:
        threads = [int(name) for name in listdir(TASKS)]
    except OSError:
        return False
    return all(state(thread) == WAITS_FOR_EVER for thread in threads if thread != but)
