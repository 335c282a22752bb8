"""Finds out whether concurrent runs of a section disturb each other.

The section runs many times sequentially and as many times concurrently, each mode in a process
forked for it. Results, exceptions and the state left behind are compared. Invariant: the process
of the call itself is none of them and is not changed by them.
"""

from __future__ import annotations

from _signal import ITIMER_REAL, SIG_DFL, SIG_SETMASK, SIGALRM, pthread_sigmask, setitimer, signal
from marshal import dumps, loads
from posix import _exit, close, dup2, fork, open, pipe, read, waitpid, write
from select import POLLIN, poll
from sys import setprofile, settrace
from time import monotonic

from runtime.guest_mode import get_tool, set_events

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable, Sequence

    from runtime.call import CallProgress
    from runtime.zygote import Zygote

# The share of the call's timeout for the whole burst; each mode has at most a quarter of that.
TIME_SHARE = 0.6
# The most instructions between two thread switches: some races need frequent switches, some rare.
GAPS = (1, 4, 2, 15, 3, 60)
# Concurrent runs that take this many times longer than sequential ones count as hanging.
MAX_SLOWDOWN = 20
SLACK_SECONDS = 0.5
MAX_REPORT_BYTES = 4 << 20
CO_ASYNC = 0x80 | 0x200
OTHER_SEED = 0x5EED


class Burst:
    """The burst of one call: its number of runs, and its report."""

    def __init__(self, wanted: list, zygote: Zygote, progress: CallProgress, call: dict) -> None:
        self.threads, self.tasks, timeout_ms = wanted
        self.zygote = zygote
        self.progress = progress
        self.call = call
        self.seconds = timeout_ms / 1000 * TIME_SHARE
        self.reported: dict | None = None

    def run(self, function: Callable, args: Sequence, kwargs: dict, receiver: object) -> None:
        """Runs all modes, until one shows a difference."""
        is_async = _is_async(function)
        count = self.tasks if is_async else self.threads
        if count < 2:
            return
        self.deadline = monotonic() + self.seconds
        modes = _BurstModes(self, function, args, kwargs, receiver, is_async)
        sequential = modes.run("alone", count)
        # For tasks this cannot be decided: tasks that were given up count as ended.
        if not is_async and _is_stuck_after_one_run(sequential):
            # The next run waits for ever, even sequentially.
            reported = _empty_report()
            reported.update(
                finished=_count_ended(sequential),
                deadlocked=True,
                waits_at=_rarest(sequential["waits"]),
            )
            self._report(reported, is_async, count)
            return
        repeated = modes.run("alone again", count) if _is_complete(sequential, count) else None
        if not _is_complete(repeated, count):
            self.progress.note("no burst: the runs did not end one after the other, in time")
            return
        if not (sequential["rolled_back"] and repeated["rolled_back"]):
            self.progress.note("no burst: files that the section changes could not be put back")
            return
        reported = None
        for mode in modes.concurrent_modes():
            if monotonic() > self.deadline:
                break
            now = _compare(modes.run(mode, count), sequential, repeated, count)
            if reported is None or now["finished"] == count:
                reported = now
            if now["deadlocked"] or now["differs"] or now["raised"]:
                reported = now
                break
        if reported is not None:
            self._report(reported, is_async, count)

    def _report(self, reported: dict, is_async: bool, count: int) -> None:
        spawned = "tasks_spawned" if is_async else "threads_spawned"
        self.reported = dict(reported, **{spawned: count})


def _count_ended(result: dict | None) -> int:
    return len(result["results"]) + len(result["raised"])


def _is_stuck_after_one_run(result: dict | None) -> bool:
    """Whether a run that ended left state in which the next one cannot continue."""
    if result is None or "signal" in result or _count_ended(result) == 0 or result["over"]:
        return False
    return result["stuck"] or _stalled(result, result["first"])


def _stalled(result: dict | None, usual: float) -> bool:
    """Where the kernel does not show that a thread waits: whether the runs took too long, and made
    no progress for most of that time. On a busy machine there is slow progress.
    """
    is_late = result["seconds"] > usual * MAX_SLOWDOWN + SLACK_SECONDS
    return is_late and result["still"] * 2 > result["seconds"]


def _is_complete(result: dict | None, count: int) -> bool:
    """Whether all runs ended."""
    if result is None or "signal" in result:
        return False
    return result["over"] and _count_ended(result) == count


def _empty_report() -> dict:
    reported: dict = {
        "threads_spawned": 0,
        "tasks_spawned": 0,
        "finished": 0,
        "distinct_results": 0,
    }
    reported.update(deadlocked=False, waits_at=None, raised=[], differs=False)
    return reported


def _compare(result: dict | None, sequential: dict, repeated: dict | None, count: int) -> dict:
    """Compares concurrent runs with two rounds of sequential ones."""
    reported = _empty_report()
    if result is None or "signal" in result:
        # The process ended before it could report.
        reported["raised"] = [] if result is None else ["signal " + str(result["signal"])]
        return reported
    known = set(sequential["raised"]) | set(repeated["raised"])
    reported["finished"] = _count_ended(result)
    reported["deadlocked"] = reported["finished"] < count and (
        result["stuck"] or _stalled(result, sequential["seconds"])
    )
    if reported["deadlocked"]:
        reported["waits_at"] = _rarest(result["waits"])
    reported["raised"] = sorted(set(result["raised"]) - known)
    reported["distinct_results"] = len(set(result["results"]))
    if reported["finished"] == count:
        # Values that differ between sequential rounds prove nothing.
        reported["differs"] = any(
            sequential[what] == repeated[what] != result[what]
            for what in ("results", "raised", "state")
        )
    return reported


def _rarest(places: list) -> list | None:
    """The place where the fewest threads wait: those hold what the others wait for."""
    if not places:
        return None
    return min(places, key=lambda place: (places.count(place), place[0], -place[1]))


def _is_async(function: Callable) -> bool:
    for name in ("__func__", "__wrapped__"):
        function = getattr(function, name, function)
    code = getattr(function, "__code__", None)
    return type(code) is _Code and bool(code.co_flags & CO_ASYNC)


class _BurstModes:
    """The modes of a burst, each of which runs in a process forked for it."""

    def __init__(
        self,
        burst: Burst,
        function: Callable,
        args: Sequence,
        kwargs: dict,
        receiver: object,
        is_async: bool,
    ) -> None:
        self.burst = burst
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.receiver = receiver
        self.is_async = is_async

    def concurrent_modes(self) -> list:
        """The concurrent modes, in the order in which they run."""
        return ["tasks"] if self.is_async else [*GAPS, "free"]

    def run(self, mode: str | int, count: int) -> dict | None:
        """The result of one mode; `None` when its process did not report in time."""
        seconds = min(self.burst.seconds / 4, max(0.0, self.burst.deadline - monotonic()))
        reader, writer = pipe()
        try:
            child = fork()
        except OSError as error:
            close(reader)
            close(writer)
            self.burst.progress.note("no burst: no process could be made: " + str(error))
            return None
        if child == 0:
            try:
                close(reader)
                reported = self._run_in_fork(mode, count, seconds)
                write_all(writer, dumps(reported, 2))
            finally:
                # Without a report, if code of the guest interfered.
                _exit(0)
        close(writer)
        data = _read_all(reader, seconds + 1.0)
        close(reader)
        _, status = waitpid(child, 0)
        if status & 0x7F:
            ended = status & 0x7F
            return None if ended == SIGALRM else {"signal": ended}
        try:
            return loads(data)
        except Exception:
            return None

    def _run_in_fork(self, mode: str | int, count: int, seconds: float) -> dict:
        """Runs in the forked process: makes the runs, compares, restores files."""
        # If the process misses even its deadline, the kernel ends it.
        signal(SIGALRM, SIG_DFL)
        setitimer(ITIMER_REAL, seconds + 0.5)
        pthread_sigmask(SIG_SETMASK, ())
        _silence_output()
        zygote, call = self.burst.zygote, self.burst.call
        zygote.audit.listening = False
        from concurrency.file_rollback import FileRollback
        from concurrency.thread_runs import ThreadRuns

        files = FileRollback()
        names = _globals_of(self.function)
        max_items = call["description_limits"]["items"]
        runs = ThreadRuns(self.function, self.args, self.kwargs, max_items, zygote.repo, names)
        seed = call["seed"]
        if mode == "alone again":
            zygote.seeding.start(seed ^ OTHER_SEED)
        began = monotonic()
        deadline = began + seconds
        if self.is_async:
            from concurrency.task_runs import TaskRuns

            many = TaskRuns(runs, self.burst.progress, deadline)
            over = many.run_concurrently(count) if mode == "tasks" else many.run_sequentially(count)
        elif mode == "free":
            over = runs.run_concurrently(count, deadline)
        elif type(mode) is int:
            over = runs.run_scheduled(count, deadline, seed, mode)
        else:
            over = runs.run_sequentially(count, deadline)
        reported = runs.report(self.receiver, files)
        first = runs.first_end - began if runs.first_end else seconds
        now = monotonic()
        reported.update(seconds=now - began, still=now - max(began, runs.moved))
        return dict(reported, over=over, stuck=runs.stuck, first=first)


def _globals_of(function: Callable) -> dict:
    function = getattr(function, "__func__", function)
    function = getattr(function, "__wrapped__", function)
    names = getattr(function, "__globals__", None)
    return names if type(names) is dict else {}


def _silence_output() -> None:
    """Disables output, tracing and profiling."""
    nothing = open("/dev/null", 2)
    for number in (1, 2):
        dup2(nothing, number)
    close(nothing)
    settrace(None)
    setprofile(None)
    if get_tool is not None:
        for tool in range(6):
            if get_tool(tool) is not None:
                set_events(tool, 0)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of the data."""
    rest = memoryview(data)
    while rest:
        rest = rest[write(descriptor, rest) :]


def _read_all(descriptor: int, seconds: float) -> bytes:
    """Reads until the other end is closed, or the time is over."""
    end = monotonic() + seconds
    poller = poll()
    poller.register(descriptor, POLLIN)
    chunks, size = [], 0
    while size < MAX_REPORT_BYTES:
        left = end - monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            break
        chunk = read(descriptor, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


_Code = type(_is_async.__code__)
