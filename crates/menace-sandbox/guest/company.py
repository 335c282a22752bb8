# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Runs a section many times in one process: one after the other, in turns, or all at once.

Each way has a process of its own, so that it starts from the same state; what came of it is told as
plain values. Invariant: the process ends by itself, even when none of the runs does.
"""

import sys
from sys import _current_frames
from time import monotonic, sleep

from _thread import allocate_lock, get_ident, get_native_id, stack_size, start_new_thread
from blocked import all_wait_for_ever
from calling import Outcome
from consuming import consume
from names import full_name
from structure import Structure
from strikes import Dice
from turns import Turns, napping

STACK = 2 << 20
LOOK = 0.005
# So often in a row everybody must be found waiting.
LOOKS = 10
# Often enough for threads to get in each other's way, where the interpreter lets them.
SWITCH_SECONDS = 1e-6


class Company:
    """What is run, and what came of each run."""

    def __init__(self, function, args, kwargs, cap, repo, module_names):
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.cap = cap
        self.repo = repo
        self.module_names = module_names
        self.ends = []
        self.held = []
        # All numbers that threads are known by, and which of them makes which run.
        self.threads = set()
        self.runs = {}
        # Where runs are that have not come to an end.
        self.waits = []
        # Nobody can go on any more.
        self.stuck = False
        # When the first of them came to an end, and when anything was seen to go on.
        self.first_end = self.moved = 0.0

    def run_once(self, at):
        """One run to its very end."""
        outcome = Outcome()
        self.held.append(outcome)
        self.threads.add(get_ident())
        self.runs[at] = get_ident()
        try:
            result = consume(self.function(*self.args, **self.kwargs), outcome, self.cap)
            if outcome.tasks is not None:
                outcome.tasks.close()
            self.ends[at] = (True, result)
        except BaseException as error:
            self.ends[at] = (False, error)
        self.moved = monotonic()
        self.first_end = self.first_end or self.moved

    def one_after_the_other(self, count, deadline):
        """In threads of their own, as code may behave otherwise in one; all stay until the end."""
        self.ends = [None] * count
        nap_not(self.module_names)
        gates = [allocate_lock() for _ in range(count)]
        done = allocate_lock()
        done.acquire()

        def body(at):
            gates[at].acquire()
            self.run_once(at)
            done.release()
            gates[at].acquire()

        for gate in gates:
            gate.acquire()
        started = _start(body, count)
        for at in range(started):
            gates[at].release()
            if not self._ends(done, deadline):
                return False
        return started == count

    def in_turns(self, count, deadline, seed, gap):
        """One at a time, but with others in between."""
        self.ends = [None] * count
        turns = Turns(count, Dice(seed, "turns " + str(gap)), gap, self.is_own)
        napping(turns, self.module_names)

        def body(at):
            turns.enter(at)
            try:
                self.run_once(at)
            finally:
                turns.leave(at)

        if _start(body, count) < count:
            return False
        while None in turns.natives:
            sleep(LOOK)
        turns.start()
        over = turns.watch(deadline)
        self.stuck = turns.stuck
        self.moved = max(self.moved, turns.moved)
        return over

    def all_at_once(self, count, deadline):
        """Let loose at the same moment."""
        self.ends = [None] * count
        gate = allocate_lock()
        done = allocate_lock()
        gate.acquire()
        done.acquire()
        left = [count]
        counting = allocate_lock()

        def body(at):
            with gate:
                pass
            self.run_once(at)
            with counting:
                left[0] -= 1
                if left[0] == 0:
                    done.release()

        if _start(body, count) < count:
            return False
        sys.setswitchinterval(SWITCH_SECONDS)
        gate.release()
        return self._ends(done, deadline)

    def _ends(self, done, deadline):
        """Waits until the lock is released, unless nobody can do that any more."""
        own = get_native_id()
        looks = 0
        while not done.acquire(timeout=LOOK):
            looks = looks + 1 if all_wait_for_ever(own) else 0
            self.stuck = looks >= LOOKS
            if self.stuck or monotonic() > deadline:
                return False
        return True

    def tell(self, receiver, files):
        """What is to be compared."""
        structure = Structure(self.repo, self.threads)
        results, raised = [], []
        for end in self.ends:
            if end is None:
                continue
            if end[0]:
                results.append(_digest(structure, end[1]))
            else:
                raised.append(full_name(type(end[1])))
        kept = [receiver, list(self.args), dict(self.kwargs), structure.data_of(self.module_names)]
        kept.append(files.left())
        return {
            "results": sorted(results),
            "raised": sorted(raised),
            "state": structure.digest_unordered(kept),
            "undone": files.undo(),
            "waits": self.waits or self._waiting(),
        }


    def is_own(self, file):
        """Whether a file is the repository's."""
        return file.startswith(self.repo) and "/site-packages/" not in file

    def place(self, frame):
        """Where a frame of the repository is."""
        return [frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name]

    def _waiting(self):
        places = []
        frames = _current_frames()
        for at, end in enumerate(self.ends):
            frame = frames.get(self.runs.get(at)) if end is None else None
            while frame is not None and not self.is_own(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                places.append(self.place(frame))
        return places


def _digest(structure, result):
    items = getattr(result, "items", None) if type(result).__name__ == "Collected" else None
    return structure.digest(result if items is None else items)


def _start(body, count):
    """Starts so many threads; says how many there are."""
    before = stack_size(STACK)
    try:
        for at in range(count):
            try:
                start_new_thread(body, (at,))
            except RuntimeError:
                return at
    finally:
        stack_size(before)
    return count


def nap_not(names):
    """Alone there is nobody to sleep for."""

    class Nobody:
        @staticmethod
        def nap(_seconds):
            return None

    napping(Nobody, names)
