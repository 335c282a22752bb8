"""Decides from the call's seed when the harness injects a fault.

Invariant: equal seeds inject equal faults, whatever else happens in the call.
"""

from __future__ import annotations

from _blake2 import blake2b
from _thread import allocate_lock
from time import perf_counter_ns

from runtime.mailbox import FAULTS_MASKED

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Sequence
    from mmap import mmap
    from typing import Any

# From this rate on the first opportunity is always taken: many sections offer no second one.
EAGER_RATE = 0.5


class FaultRandom:
    """Random numbers that depend on a seed and a purpose alone."""

    __slots__ = ("key",)

    def __init__(self, seed: int, purpose: str) -> None:
        self.key = str(seed).encode() + b"\0" + purpose.encode("utf-8", "surrogatepass") + b"\0"

    def number(self, which: int | str) -> int:
        """The `which`th number, below 2**64."""
        digest = blake2b(self.key + str(which).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def share(self, which: int | str) -> float:
        """A number between 0 and 1."""
        return self.number(which) / 2.0**64

    def pick(self, which: int | str, choices: Sequence) -> Any:
        """One of the choices."""
        return choices[self.number(which) % len(choices)]


def choose_first_fault(candidates: tuple, seed: int) -> None:
    """Chooses by the seed which fault mode may take the first opportunity, or that none may.

    In sections that offer no second opportunity the first fault would hide all others.
    """
    eager = [injector for injector in candidates if injector is not None and injector.is_eager()]
    if len(eager) > 1:
        # Part of the seed: with another text, stored calls would have other faults.
        chosen = FaultRandom(seed, "who strikes first").pick(0, [*eager, None])
        for injector in eager:
            injector.is_deferred = injector is not chosen


class FaultInjector:
    """One fault mode of a call: its opportunities, and how many of them were used."""

    __slots__ = (
        "began",
        "first",
        "injected",
        "is_deferred",
        "kind",
        "last",
        "mode",
        "opportunities",
        "random",
        "value",
    )

    def __init__(self, mode: str, kind: str, value: float, seed: int, began: int) -> None:
        self.mode = mode
        self.kind = kind
        self.value = value
        self.random = FaultRandom(seed, mode)
        self.began = began
        self.opportunities = self.injected = 0
        self.first: str | None = None
        self.last: int | None = None
        # Set when another fault mode may take the first opportunity.
        self.is_deferred = False

    def is_eager(self) -> bool:
        """Whether the rate is high enough that the first opportunity is taken whatever the seed."""
        return self.kind == "rate" and self.value >= EAGER_RATE

    def should_inject(self) -> bool:
        """Whether to inject the fault at this opportunity."""
        self.opportunities += 1
        if self.kind == "nth":
            return self.opportunities == self.value
        if self.opportunities == 1 and self.value >= EAGER_RATE:
            return not self.is_deferred
        return self.random.share(self.opportunities) < self.value

    def record(self, what: str) -> None:
        """Counts an injected fault."""
        self.injected += 1
        self.last = perf_counter_ns()
        if self.first is None:
            self.first = what

    def report(self) -> list:
        """`[mode, opportunities, injected, first, nanoseconds to the last]`."""
        last = None if self.last is None else self.last - self.began
        return [self.mode, self.opportunities, self.injected, self.first, last]


class FaultMask:
    """While a thread is inside, init injects no faults, so that the harness meets none."""

    __slots__ = ("inside", "lock", "map")

    def __init__(self, map: mmap) -> None:
        self.map = map
        self.inside = 0
        self.lock = allocate_lock()

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.map[FAULTS_MASKED] = 1
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.map[FAULTS_MASKED] = 0
