"""Runs a section many times in one process: sequentially, scheduled, or concurrently.

Each mode has a process of its own, so that it starts from the same state; the results are plain
values. Invariant: the process ends by itself, even when none of the runs does.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident, get_native_id, stack_size, start_new_thread
from sys import _current_frames
from time import monotonic, sleep

from concurrency.scheduler import Scheduler, replace_sleep
from concurrency.state_digest import StateDigest
from concurrency.thread_state import all_wait_forever
from describe.introspect import full_name
from faults.injection import FaultRandom
from runtime.call import CallProgress
from runtime.consume import consume

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import Any

    from concurrency.file_rollback import FileRollback

STACK = 2 << 20
POLL_SECONDS = 0.005
# Consecutive polls at which all threads must be found waiting.
STUCK_POLLS = 10
# An interval that makes the interpreter switch threads as often as possible.
SWITCH_SECONDS = 1e-6


class ThreadRuns:
    """The runs of a section in one process, and the result of each."""

    def __init__(
        self,
        function: Callable,
        args: Sequence,
        kwargs: dict,
        max_items: int,
        repo: str,
        module_names: dict,
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.max_items = max_items
        self.repo = repo
        self.module_names = module_names
        self.ends: list = []
        self.progresses: list = []
        # The ids of all threads of the runs, and the run that each makes.
        self.threads: set = set()
        self.runs: dict = {}
        # Where runs that have not ended wait.
        self.waits: list = []
        # Whether no thread can continue.
        self.stuck = False
        # When the first run ended, and when progress was last observed.
        self.first_end = self.moved = 0.0

    def run_once(self, at: int) -> None:
        """Makes one run, including what it returned (generators, coroutines)."""
        progress = CallProgress()
        self.progresses.append(progress)
        self.threads.add(get_ident())
        self.runs[at] = get_ident()
        try:
            result = consume(self.function(*self.args, **self.kwargs), progress, self.max_items)
            if progress.event_loop is not None:
                progress.event_loop.close()
            self.ends[at] = (True, result)
        except BaseException as error:
            self.ends[at] = (False, error)
        self.moved = monotonic()
        self.first_end = self.first_end or self.moved

    def run_sequentially(self, count: int, deadline: float) -> bool:
        """Runs each in a thread, where code may behave differently; all threads stay alive."""
        self.ends = [None] * count
        skip_sleep(self.module_names)
        gates = [allocate_lock() for _ in range(count)]
        done = allocate_lock()
        done.acquire()

        def body(at: int) -> None:
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

    def run_scheduled(self, count: int, deadline: float, seed: int, gap: int) -> bool:
        """One thread at a time, switched by the scheduler."""
        self.ends = [None] * count
        scheduler = Scheduler(count, FaultRandom(seed, "turns " + str(gap)), gap, self.is_own)
        replace_sleep(scheduler, self.module_names)

        def body(at: int) -> None:
            scheduler.enter(at)
            try:
                self.run_once(at)
            finally:
                scheduler.leave(at)

        if _start(body, count) < count:
            return False
        while None in scheduler.natives:
            sleep(POLL_SECONDS)
        scheduler.start()
        over = scheduler.watch(deadline)
        self.stuck = scheduler.stuck
        self.moved = max(self.moved, scheduler.moved)
        return over

    def run_concurrently(self, count: int, deadline: float) -> bool:
        """All threads start at the same moment."""
        self.ends = [None] * count
        gate = allocate_lock()
        done = allocate_lock()
        gate.acquire()
        done.acquire()
        left = [count]
        counting = allocate_lock()

        def body(at: int) -> None:
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

    def _ends(self, done: Any, deadline: float) -> bool:
        """Waits until the lock is released; false when no thread can do that any more."""
        own = get_native_id()
        polls = 0
        while not done.acquire(timeout=POLL_SECONDS):
            polls = polls + 1 if all_wait_forever(own) else 0
            self.stuck = polls >= STUCK_POLLS
            if self.stuck or monotonic() > deadline:
                return False
        return True

    def report(self, receiver: object, files: FileRollback) -> dict:
        """The results and the state to be compared."""
        structure = StateDigest(self.repo, self.threads)
        results, raised = [], []
        for end in self.ends:
            if end is None:
                continue
            if end[0]:
                results.append(_digest(structure, end[1]))
            else:
                raised.append(full_name(type(end[1])))
        kept = [receiver, list(self.args), dict(self.kwargs), structure.data_of(self.module_names)]
        kept.append(files.changed_files())
        return {
            "results": sorted(results),
            "raised": sorted(raised),
            "state": structure.digest_unordered(kept),
            "rolled_back": files.restore(),
            "waits": self.waits or self._waiting(),
        }

    def is_own(self, file: str) -> bool:
        """Whether the file belongs to the repository."""
        return file.startswith(self.repo) and "/site-packages/" not in file

    def place(self, frame: FrameType) -> list:
        """File, line and function of a frame of the repository."""
        return [frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name]

    def _waiting(self) -> list:
        places = []
        frames = _current_frames()
        for at, end in enumerate(self.ends):
            frame = frames.get(self.runs.get(at)) if end is None else None
            while frame is not None and not self.is_own(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                places.append(self.place(frame))
        return places


def _digest(structure: StateDigest, result: object) -> str:
    items = getattr(result, "items", None) if type(result).__name__ == "CollectedItems" else None
    return structure.digest(result if items is None else items)


def _start(body: Callable, count: int) -> int:
    """Starts `count` threads; returns how many could be started."""
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


def skip_sleep(names: dict) -> None:
    """Makes `sleep` return at once, since no other thread runs meanwhile."""

    class NoSleep:
        @staticmethod
        def virtual_sleep(_seconds: float) -> None:
            return None

    replace_sleep(NoSleep, names)
