"""Runs threads one at a time, and switches between them at points that depend on a seed alone.

The thread that holds the turn runs; the others wait at their gates (locks). A thread that blocks
outside, in a lock of the guest or a system call, loses its turn until it returns. Invariant: apart
from threads that return from outside, no two run at once, and which one runs next depends on the
seed and the code alone.
"""

from __future__ import annotations

import time
from _thread import allocate_lock, get_ident, get_native_id
from time import monotonic, sleep

from concurrency.switch_points import SwitchPoints
from concurrency.thread_state import (
    RUNS,
    UNKNOWN,
    WAITS,
    WAITS_FOREVER,
    all_wait_forever,
    own_clock,
    state,
    time_of,
)

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from faults.injection import FaultRandom

WAITING, RUNNING, BLOCKED_OUTSIDE, SLEEPING, DONE = range(5)
# After this many instructions the running thread keeps its turn: switching further takes too long.
MAX_SWITCH_POINTS = 50_000
BLOCKED = (WAITS, WAITS_FOREVER)
# Whenever this many turns have passed, the longest possible turn doubles.
TURNS_PER_DOUBLING = 256
POLL_SECONDS = 0.002
STUCK_POLLS = 10
# A wait with a timeout, or one that the kernel does not show, counts as blocking after this time.
TIMED_WAIT_SECONDS = 0.2
# Where the kernel does not show the state, a thread counts as blocked after this many polls
# without progress: on a busy machine a runnable thread waits that long for a CPU.
STILL_POLLS = 10
# Long enough to see a thread move that was woken.
WAKE_SECONDS = 0.0005
# How long a thread that was woken may take to return to its gate.
WAKE_TIMEOUT_SECONDS = 0.25


class Scheduler:
    """Decides which thread runs."""

    def __init__(self, count: int, random: FaultRandom, gap: int, is_own: Callable) -> None:
        self.gates = [allocate_lock() for _ in range(count)]
        for gate in self.gates:
            gate.acquire()
        self.states = [WAITING] * count
        self.natives: list = [None] * count
        self.clocks: list = [None] * count
        # The CPU clock of each thread at the last poll, and how many polls in a row showed no
        # change.
        self.times: list = [None] * count
        self.still = 0
        self.wakes = [0.0] * count
        self.members: dict = {}
        self.mutex = allocate_lock()
        self.over = allocate_lock()
        self.over.acquire()
        self.random = random
        self.gap = gap
        self.drawn = self.points_seen = 0
        self.left = 1
        self.holder: int | None = None
        self.handing_over = self.stuck = False
        # When the turn or the number of points last changed.
        self.moved = 0.0
        # Blocked threads that did not return in time when they were woken; nothing waits for them.
        self.gone: set = set()
        self.clock = 0.0
        self.points = SwitchPoints(is_own, self.reached)

    def enter(self, member: int) -> None:
        """Registers the current thread, and waits for its first turn."""
        self.members[get_ident()] = member
        self.clocks[member] = own_clock()
        self.natives[member] = get_native_id()
        self.gates[member].acquire()
        self.points.enter_thread()

    def leave(self, member: int) -> None:
        """Unregisters the current thread, which has finished its run."""
        self.points.leave_thread()
        with self.mutex:
            self.states[member] = DONE
            if self.holder in (member, None):
                self._hand_over()

    def start(self) -> None:
        """Gives the first turn."""
        with self.mutex:
            self._hand_over()

    def reached(self) -> None:
        """Called at a point at which another thread could run."""
        member = self.members.get(get_ident())
        if member is None:
            return
        if self.holder != member:
            self._come_back(member)
            return
        self.points_seen += 1
        if self.points_seen == MAX_SWITCH_POINTS:
            self.points.stop()
        self.left -= 1
        if self.left <= 0:
            self._give(member, WAITING)

    def virtual_sleep(self, seconds: float) -> None:
        """Replaces `time.sleep`: the virtual clock advances only when all other threads sleep."""
        member = self.members.get(get_ident())
        if member is None or self.holder != member:
            sleep(seconds)
            return
        self.wakes[member] = self.clock + max(0.0, seconds)
        self._give(member, SLEEPING if seconds > 0 else WAITING)

    def watch(self, deadline: float) -> bool:
        """Takes the turn from threads that block; true when all threads have finished."""
        own = get_native_id()
        seen, polls, waiting = None, 0, 0
        while not self.over.acquire(timeout=POLL_SECONDS):
            if monotonic() > deadline:
                return False
            now = (self.holder, self.points_seen)
            if now != seen:
                seen, polls, waiting = now, 0, 0
                self.still = 0
                self.moved = monotonic()
                continue
            polls += 1
            if self.holder is not None and self._is_blocked(self.holder, polls):
                with self.mutex:
                    if now == (self.holder, self.points_seen) and not self.handing_over:
                        self.states[self.holder] = BLOCKED_OUTSIDE
                        self._hand_over()
            elif self.holder is None:
                waiting = waiting + 1 if all_wait_forever(own) else 0
                if waiting >= STUCK_POLLS:
                    self.stuck = True
                    return False
        return True

    def _is_blocked(self, member: int, polls: int) -> bool:
        doing = state(self.natives[member])
        if doing in BLOCKED:
            return polls >= 2
        if doing == UNKNOWN:
            self.still = 0 if self._moves(member) else self.still + 1
            return self.still >= STILL_POLLS
        return doing != RUNS and polls * POLL_SECONDS > TIMED_WAIT_SECONDS

    def _moves(self, member: int) -> bool:
        """Whether the thread has used CPU time since the last poll."""
        before, now = self.times[member], time_of(self.clocks[member])
        self.times[member] = now
        return now != before

    def _is_waking(self, member: int) -> bool:
        doing = state(self.natives[member])
        return self._moves(member) if doing == UNKNOWN else doing not in BLOCKED

    def _give(self, member: int, becomes: int) -> None:
        with self.mutex:
            self.states[member] = becomes
            self._hand_over()
        # The gate is already open if the same thread was chosen again.
        self.gates[member].acquire()

    def _come_back(self, member: int) -> None:
        with self.mutex:
            self.states[member] = WAITING
            self.gone.discard(member)
            if self.holder is None:
                self._hand_over()
        self.gates[member].acquire()

    def _hand_over(self) -> None:
        """Chooses the next thread and opens its gate. The caller holds the mutex."""
        self._let_come_back()
        ready = [at for at, now in enumerate(self.states) if now == WAITING]
        if not ready:
            sleeping = [at for at, now in enumerate(self.states) if now == SLEEPING]
            if sleeping:
                ready = [min(sleeping, key=lambda at: (self.wakes[at], at))]
                self.clock = max(self.clock, self.wakes[ready[0]])
        if not ready:
            self.holder = None
            if all(now == DONE for now in self.states):
                self.over.release()
            return
        self.drawn += 1
        number = self.random.number(self.drawn)
        chosen = ready[number % len(ready)]
        self.left = 1 + (number >> 20) % (self.gap << self.drawn // TURNS_PER_DOUBLING)
        self.states[chosen] = RUNNING
        self.holder = chosen
        self.gates[chosen].release()

    def _let_come_back(self) -> None:
        """Waits for threads that the last one has woken, so that they can be chosen, too."""
        if self.holder is None or BLOCKED_OUTSIDE not in self.states:
            return
        self.handing_over = True
        deadline = monotonic() + WAKE_TIMEOUT_SECONDS
        own = get_native_id()
        if state(own) == UNKNOWN:
            self._pause()
        while True:
            waking = [
                at
                for at, now in enumerate(self.states)
                if now == BLOCKED_OUTSIDE and at not in self.gone and self.natives[at] != own
            ]
            waking = [at for at in waking if self._is_waking(at)]
            if not waking:
                break
            if monotonic() > deadline:
                self.gone.update(waking)
                break
            self._pause()
        self.handing_over = False

    def _pause(self) -> None:
        """Releases the mutex for a moment, so that returning threads can take it."""
        self.mutex.release()
        sleep(WAKE_SECONDS)
        self.mutex.acquire()


def replace_sleep(scheduler: Any, names: dict) -> None:
    """Replaces `sleep` in `time`, and in a module that imported it from there."""
    for place in (time.__dict__, names):
        for name, value in list(place.items()):
            if value is sleep:
                place[name] = scheduler.virtual_sleep
