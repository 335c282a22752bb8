"""Lets threads run in turns that depend on a seed alone: one at a time, handing over at random.

The one whose turn it is runs; the others wait at their gates. One that blocks outside, at a lock or
in a system call, loses its turn until it is back. Invariant: apart from those that come back from
outside, no two of them run at once, and who runs next depends on the seed and the code alone.
"""

import time
from time import monotonic, sleep

from _thread import allocate_lock, get_ident, get_native_id
from blocked import (
    RUNS,
    UNKNOWN,
    WAITS,
    WAITS_FOR_EVER,
    all_wait_for_ever,
    own_clock,
    state,
    time_of,
)
from points import Points

WAITING, RUNNING, AWAY, NAPPING, DONE = range(5)
# After so many instructions it goes on without handing over: it would take too long.
MOST_POINTS = 50_000
BLOCKED = (WAITS, WAITS_FOR_EVER)
# After so many turns, and each time again, turns may be twice as long.
TURNS = 256
LOOK = 0.002
LOOKS = 10
# A wait with a timeout, or one that the kernel tells nothing about, counts after so long.
LONG = 0.2
# Where the kernel does not tell, it has to have stood still so many times: on a busy machine one that
# could run has to wait that long for a processor.
STILL = 10
# Long enough for one that was woken to be seen moving.
MOVING = 0.0005
# How long one that was woken has to come back to its gate.
COMING_BACK = 0.25


class Turns:
    """Who may run."""

    def __init__(self, count, dice, gap, is_own):
        self.gates = [allocate_lock() for _ in range(count)]
        for gate in self.gates:
            gate.acquire()
        self.states = [WAITING] * count
        self.natives = [None] * count
        self.clocks = [None] * count
        # What the clocks showed when last looked at, and how often that was nothing new.
        self.times = [None] * count
        self.still = 0
        self.wakes = [0.0] * count
        self.members = {}
        self.mutex = allocate_lock()
        self.over = allocate_lock()
        self.over.acquire()
        self.dice = dice
        self.gap = gap
        self.drawn = self.points_seen = 0
        self.left = 1
        self.holder = None
        self.handing_over = self.stuck = False
        # When a turn or a point was seen that was not there before.
        self.moved = 0.0
        # Away, and known not to come back soon.
        self.gone = set()
        self.clock = 0.0
        self.points = Points(is_own, self.reached)

    def enter(self, member):
        """A thread is there, and waits for its first turn."""
        self.members[get_ident()] = member
        self.clocks[member] = own_clock()
        self.natives[member] = get_native_id()
        self.gates[member].acquire()
        self.points.enter_thread()

    def leave(self, member):
        """A thread has done its work."""
        self.points.leave_thread()
        with self.mutex:
            self.states[member] = DONE
            if self.holder in (member, None):
                self._hand_over()

    def start(self):
        """The first turn."""
        with self.mutex:
            self._hand_over()

    def reached(self):
        """A point at which another could run."""
        member = self.members.get(get_ident())
        if member is None:
            return
        if self.holder != member:
            self._come_back(member)
            return
        self.points_seen += 1
        if self.points_seen == MOST_POINTS:
            self.points.stop()
        self.left -= 1
        if self.left <= 0:
            self._give(member, WAITING)

    def nap(self, seconds):
        """Instead of `time.sleep`: time passes only when all others sleep too."""
        member = self.members.get(get_ident())
        if member is None or self.holder != member:
            sleep(seconds)
            return
        self.wakes[member] = self.clock + max(0.0, seconds)
        self._give(member, NAPPING if seconds > 0 else WAITING)

    def watch(self, deadline):
        """Sees to it that one runs as long as one can; true when all have done their work."""
        own = get_native_id()
        seen, looks, waiting = None, 0, 0
        while not self.over.acquire(timeout=LOOK):
            if monotonic() > deadline:
                return False
            now = (self.holder, self.points_seen)
            if now != seen:
                seen, looks, waiting = now, 0, 0
                self.still = 0
                self.moved = monotonic()
                continue
            looks += 1
            if self.holder is not None and self._is_blocked(self.holder, looks):
                with self.mutex:
                    if now == (self.holder, self.points_seen) and not self.handing_over:
                        self.states[self.holder] = AWAY
                        self._hand_over()
            elif self.holder is None:
                waiting = waiting + 1 if all_wait_for_ever(own) else 0
                if waiting >= LOOKS:
                    self.stuck = True
                    return False
        return True

    def _is_blocked(self, member, looks):
        doing = state(self.natives[member])
        if doing in BLOCKED:
            return looks >= 2
        if doing == UNKNOWN:
            self.still = 0 if self._moves(member) else self.still + 1
            return self.still >= STILL
        return doing != RUNS and looks * LOOK > LONG

    def _moves(self, member):
        """Whether it ran since the last time that somebody asked."""
        before, now = self.times[member], time_of(self.clocks[member])
        self.times[member] = now
        return now != before

    def _is_waking(self, member):
        doing = state(self.natives[member])
        return self._moves(member) if doing == UNKNOWN else doing not in BLOCKED

    def _give(self, member, becomes):
        with self.mutex:
            self.states[member] = becomes
            self._hand_over()
        # Open already if it was chosen again.
        self.gates[member].acquire()

    def _come_back(self, member):
        with self.mutex:
            self.states[member] = WAITING
            self.gone.discard(member)
            if self.holder is None:
                self._hand_over()
        self.gates[member].acquire()

    def _hand_over(self):
        """Chooses the next one and opens its gate; the mutex is held."""
        self._let_come_back()
        ready = [at for at, now in enumerate(self.states) if now == WAITING]
        if not ready:
            napping = [at for at, now in enumerate(self.states) if now == NAPPING]
            if napping:
                ready = [min(napping, key=lambda at: (self.wakes[at], at))]
                self.clock = max(self.clock, self.wakes[ready[0]])
        if not ready:
            self.holder = None
            if all(now == DONE for now in self.states):
                self.over.release()
            return
        self.drawn += 1
        number = self.dice.number(self.drawn)
        chosen = ready[number % len(ready)]
        self.left = 1 + (number >> 20) % (self.gap << self.drawn // TURNS)
        self.states[chosen] = RUNNING
        self.holder = chosen
        self.gates[chosen].release()

    def _let_come_back(self):
        """Waits for those that were woken by what the last one did: they can be chosen too."""
        if self.holder is None or AWAY not in self.states:
            return
        self.handing_over = True
        patience = monotonic() + COMING_BACK
        own = get_native_id()
        if state(own) == UNKNOWN:
            self._pause()
        while True:
            waking = [
                at
                for at, now in enumerate(self.states)
                if now == AWAY and at not in self.gone and self.natives[at] != own
            ]
            waking = [at for at in waking if self._is_waking(at)]
            if not waking:
                break
            if monotonic() > patience:
                self.gone.update(waking)
                break
            self._pause()
        self.handing_over = False

    def _pause(self):
        """Lets others have the mutex for a moment."""
        self.mutex.release()
        sleep(MOVING)
        self.mutex.acquire()


def napping(turns, names):
    """Puts the naps into `time`, and into a module that took `sleep` from there."""
    for place in (time.__dict__, names):
        for name, value in list(place.items()):
            if value is sleep:
                place[name] = turns.nap
