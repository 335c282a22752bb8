"""The simulated network between a call and the services that the harness answers for.

No packets are sent: delays and losses are computed from the call's seed.
"""

from __future__ import annotations

if False:  # for type checkers only: nothing is loaded at run time
    from faults.injection import FaultRandom

# How long TCP waits before it retransmits a packet.
AGAIN_SECONDS = 0.2
# Replies on a slow link arrive in this many pieces per second.
PIECES = 50
PERFECT = {"latency_ms": 0.0, "jitter_ms": 0.0, "loss": 0.0, "bits_per_second": 0.0}


class Link:
    """Latency, loss, bandwidth and unreachable hosts."""

    __slots__ = ("network", "partition", "random", "sent")

    def __init__(self, network: dict, random: FaultRandom) -> None:
        self.network = dict(PERFECT, **network)
        self.partition = self.network.pop("partition", [])
        self.random = random
        self.sent = 0

    def one_way(self) -> float:
        """Seconds until a packet is on the other side."""
        self.sent += 1
        jitter = self.network["jitter_ms"] * (2 * self.random.share(self.sent) - 1)
        seconds = max(0.0, self.network["latency_ms"] + jitter) / 1000
        if self.network["loss"] > 0 and self.random.share(-self.sent) < self.network["loss"]:
            seconds += AGAIN_SECONDS
        return seconds

    def transfer(self, size: int) -> float:
        """Seconds to send `size` bytes."""
        rate = self.network["bits_per_second"]
        return size * 8 / rate if rate > 0 else 0.0

    def pieces(self, data: bytes) -> list:
        """The data in the pieces in which it arrives: `(seconds, piece)`."""
        rate = self.network["bits_per_second"]
        if rate <= 0:
            return [(0.0, data)]
        size = max(1, int(rate / 8 / PIECES))
        ends = range(size, len(data) + size, size)
        return [(self.transfer(min(end, len(data))), data[end - size : end]) for end in ends]

    def cuts(self, names: tuple, port: int) -> bool:
        """Whether the partition cuts off a host, which is known under these names."""
        return any(
            (host is None or host in names) and (cut is None or cut == port)
            for host, cut in self.partition
        )
