"""When a fault of the harness strikes, from the call's seed alone.

Invariant: equal seeds give equal strikes, whatever else happens in the call.
"""

from time import perf_counter_ns

from _blake2 import blake2b

# From this share on the first opportunity is taken: many sections give no second one.
OFTEN = 0.5


class Dice:
    """Numbers that depend on a seed and on what they are for, and on nothing else."""

    __slots__ = ("key",)

    def __init__(self, seed, purpose):
        self.key = str(seed).encode() + b"\0" + purpose.encode("utf-8", "surrogatepass") + b"\0"

    def number(self, which):
        """A number below 2**64 for the `which`th time."""
        digest = blake2b(self.key + str(which).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def share(self, which):
        """A number from 0 to 1."""
        return self.number(which) / 2.0**64

    def pick(self, which, choices):
        """One of them."""
        return choices[self.number(which) % len(choices)]


def take_turns(rivals, seed):
    """Leaves the first opportunity to one of those that would take it, or to none, by the seed.

    Whoever comes first would hide all others from sections that give no second opportunity.
    """
    eager = [felt for felt in rivals if felt is not None and felt.is_eager()]
    if len(eager) > 1:
        chosen = Dice(seed, "who strikes first").pick(0, [*eager, None])
        for felt in eager:
            felt.gives_way = felt is not chosen


class Felt:
    """One kind of fault: opportunities and strikes."""

    __slots__ = (
        "began",
        "dice",
        "first",
        "gives_way",
        "kind",
        "last",
        "mode",
        "offered",
        "struck",
        "value",
    )

    def __init__(self, mode, kind, value, seed, began):
        self.mode = mode
        self.kind = kind
        self.value = value
        self.dice = Dice(seed, mode)
        self.began = began
        self.offered = self.struck = 0
        self.first = self.last = None
        # The first opportunity is somebody else's.
        self.gives_way = False

    def is_eager(self):
        """Whether it takes the first opportunity, whatever the seed."""
        return self.kind == "rate" and self.value >= OFTEN

    def strikes(self):
        """Whether it strikes at this opportunity."""
        self.offered += 1
        if self.kind == "nth":
            return self.offered == self.value
        if self.offered == 1 and self.value >= OFTEN:
            return not self.gives_way
        return self.dice.share(self.offered) < self.value

    def strike(self, what):
        """It has struck this."""
        self.struck += 1
        self.last = perf_counter_ns()
        if self.first is None:
            self.first = what

    def report(self):
        """`[mode, offered, struck, first, nanoseconds to the last]`."""
        last = None if self.last is None else self.last - self.began
        return [self.mode, self.offered, self.struck, self.first, last]
