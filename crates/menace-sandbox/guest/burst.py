# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Finds out whether a section minds its own company.

It runs many times one after the other, and as many times at once, each way in a process forked for it.
What came out, what was raised and what was left are compared. Invariant: the process of the call is
none of them: it goes on as if nothing had happened, whatever became of the others.
"""

from _signal import ITIMER_REAL, SIG_DFL, SIG_SETMASK, SIGALRM, pthread_sigmask, setitimer, signal
from marshal import dumps, loads
from select import POLLIN, poll
from sys import setprofile, settrace
from time import monotonic

from guest_mode import get_tool, set_events
from posix import _exit, close, dup2, fork, open, pipe, read, waitpid, write

# Of the call's time, for all of it; each way has a quarter of that at most.
SHARE = 0.6
# Instructions between two turns, at most: some races want to be interrupted often, some seldom.
GAPS = (1, 4, 2, 15, 3, 60)
# Runs at once that take so much longer than one after the other never end.
FOR_EVER = 20
SLACK_SECONDS = 0.5
LARGEST = 4 << 20
CO_ASYNC = 0x80 | 0x200
OTHER_SEED = 0x5EED


class Burst:
    """How many runs at once, and what came of them."""

    def __init__(self, wanted, zygote, outcome, call):
        self.threads, self.tasks, timeout_ms = wanted
        self.zygote = zygote
        self.outcome = outcome
        self.call = call
        self.seconds = timeout_ms / 1000 * SHARE
        self.told = None

    def run(self, function, args, kwargs, receiver):
        """All ways, until one shows something."""
        is_async = _is_async(function)
        count = self.tasks if is_async else self.threads
        if count < 2:
            return
        self.deadline = monotonic() + self.seconds
        ways = _Ways(self, function, args, kwargs, receiver, is_async)
        alone = ways.go("alone", count)
        # Tasks that are given up end too, which says nothing.
        if not is_async and _leaves_stuck(alone):
            # Who comes after it waits for ever: no company is needed to see that.
            told = _nothing_told()
            told.update(finished=_ended(alone), deadlocked=True, waits_at=_rarest(alone["waits"]))
            self._tell(told, is_async, count)
            return
        again = ways.go("alone again", count) if _is_whole(alone, count) else None
        if not _is_whole(again, count):
            self.outcome.note("no burst: the runs did not end one after the other, in time")
            return
        if not (alone["undone"] and again["undone"]):
            self.outcome.note("no burst: files that the section changes could not be put back")
            return
        told = None
        for way in ways.together():
            if monotonic() > self.deadline:
                break
            now = _compared(ways.go(way, count), alone, again, count)
            if told is None or now["finished"] == count:
                told = now
            if now["deadlocked"] or now["differs"] or now["raised"]:
                told = now
                break
        if told is not None:
            self._tell(told, is_async, count)

    def _tell(self, told, is_async, count):
        spawned = "tasks_spawned" if is_async else "threads_spawned"
        self.told = dict(told, **{spawned: count})


def _ended(found):
    return len(found["results"]) + len(found["raised"])


def _leaves_stuck(found):
    """Whether a run that ended left things such that the next one cannot go on."""
    if found is None or "signal" in found or _ended(found) == 0 or found["over"]:
        return False
    return found["stuck"] or _stands_still(found, found["first"])


def _stands_still(found, usual):
    """Where nobody can be seen waiting, the time tells: it took too long, and most of that nothing
    went on. On a busy machine things go on slowly, but they do.
    """
    is_late = found["seconds"] > usual * FOR_EVER + SLACK_SECONDS
    return is_late and found["still"] * 2 > found["seconds"]


def _is_whole(found, count):
    """Whether all runs came to an end."""
    if found is None or "signal" in found:
        return False
    return found["over"] and _ended(found) == count


def _nothing_told():
    told = {"threads_spawned": 0, "tasks_spawned": 0, "finished": 0, "distinct_results": 0}
    told.update(deadlocked=False, waits_at=None, raised=[], differs=False)
    return told


def _compared(found, alone, again, count):
    """What differs between runs at once and two times one after the other."""
    told = _nothing_told()
    if found is None or "signal" in found:
        # The process was gone before it could tell.
        told["raised"] = [] if found is None else ["signal " + str(found["signal"])]
        return told
    known = set(alone["raised"]) | set(again["raised"])
    told["finished"] = _ended(found)
    told["deadlocked"] = told["finished"] < count and (
        found["stuck"] or _stands_still(found, alone["seconds"])
    )
    if told["deadlocked"]:
        told["waits_at"] = _rarest(found["waits"])
    told["raised"] = sorted(set(found["raised"]) - known)
    told["distinct_results"] = len(set(found["results"]))
    if told["finished"] == count:
        # What comes out differently each time, even alone, says nothing.
        told["differs"] = any(
            alone[what] == again[what] != found[what] for what in ("results", "raised", "state")
        )
    return told


def _rarest(places):
    """Where the fewest wait, most stand in line for what those few hold; the last of several places."""
    if not places:
        return None
    return min(places, key=lambda place: (places.count(place), place[0], -place[1]))


def _is_async(function):
    for name in ("__func__", "__wrapped__"):
        function = getattr(function, name, function)
    code = getattr(function, "__code__", None)
    return type(code) is _Code and bool(code.co_flags & CO_ASYNC)


class _Ways:
    """Runs in processes of their own."""

    def __init__(self, burst, function, args, kwargs, receiver, is_async):
        self.burst = burst
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.receiver = receiver
        self.is_async = is_async

    def together(self):
        """The ways to run at once, in order."""
        return ["tasks"] if self.is_async else [*GAPS, "free"]

    def go(self, way, count):
        """What one way came to; `None` when its process did not tell in time."""
        seconds = min(self.burst.seconds / 4, max(0.0, self.burst.deadline - monotonic()))
        reader, writer = pipe()
        try:
            child = fork()
        except OSError as error:
            close(reader)
            close(writer)
            self.burst.outcome.note("no burst: no process could be made: " + str(error))
            return None
        if child == 0:
            try:
                close(reader)
                told = self._live(way, count, seconds)
                write_all(writer, dumps(told, 2))
            finally:
                # Without a word, if something of the guest's came between.
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

    def _live(self, way, count, seconds):
        """In the process of its own: runs, compares, puts files back."""
        # Should even the deadline be missed, the kernel ends it.
        signal(SIGALRM, SIG_DFL)
        setitimer(ITIMER_REAL, seconds + 0.5)
        pthread_sigmask(SIG_SETMASK, ())
        _be_quiet()
        zygote, call = self.burst.zygote, self.burst.call
        zygote.audit.listening = False
        from company import Company
        from undoing import Undoing

        files = Undoing()
        names = _globals_of(self.function)
        cap = call["caps"]["items"]
        company = Company(self.function, self.args, self.kwargs, cap, zygote.repo, names)
        seed = call["seed"]
        if way == "alone again":
            zygote.seeding.start(seed ^ OTHER_SEED)
        began = monotonic()
        deadline = began + seconds
        if self.is_async:
            from many_tasks import ManyTasks

            many = ManyTasks(company, self.burst.outcome, deadline)
            over = many.all_at_once(count) if way == "tasks" else many.one_after_the_other(count)
        elif way == "free":
            over = company.all_at_once(count, deadline)
        elif type(way) is int:
            over = company.in_turns(count, deadline, seed, way)
        else:
            over = company.one_after_the_other(count, deadline)
        told = company.tell(self.receiver, files)
        first = company.first_end - began if company.first_end else seconds
        now = monotonic()
        told.update(seconds=now - began, still=now - max(began, company.moved))
        return dict(told, over=over, stuck=company.stuck, first=first)


def _globals_of(function):
    function = getattr(function, "__func__", function)
    function = getattr(function, "__wrapped__", function)
    names = getattr(function, "__globals__", None)
    return names if type(names) is dict else {}


def _be_quiet():
    """No output, and nobody watches."""
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


def write_all(descriptor, data):
    """All of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[write(descriptor, rest) :]


def _read_all(descriptor, seconds):
    """Everything until the other end is closed, or until it takes too long."""
    end = monotonic() + seconds
    poller = poll()
    poller.register(descriptor, POLLIN)
    chunks, size = [], 0
    while size < LARGEST:
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
