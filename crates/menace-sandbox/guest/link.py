"""The network between a call and the answers that are made for it in its own process.

Packets do not really travel there: what they would suffer is computed, from the call's seed.
"""

# How long TCP waits before it sends a packet again.
AGAIN_SECONDS = 0.2
# Answers on a slow link arrive in pieces, so many in a second.
PIECES = 50
PERFECT = {"latency_ms": 0.0, "jitter_ms": 0.0, "loss": 0.0, "bits_per_second": 0.0}


class Link:
    """How long things take, and who cannot be reached."""

    __slots__ = ("dice", "network", "partition", "sent")

    def __init__(self, network, dice):
        self.network = dict(PERFECT, **network)
        self.partition = self.network.pop("partition", [])
        self.dice = dice
        self.sent = 0

    def one_way(self):
        """Seconds until a packet is on the other side."""
        self.sent += 1
        jitter = self.network["jitter_ms"] * (2 * self.dice.share(self.sent) - 1)
        seconds = max(0.0, self.network["latency_ms"] + jitter) / 1000
        if self.network["loss"] > 0 and self.dice.share(-self.sent) < self.network["loss"]:
            seconds += AGAIN_SECONDS
        return seconds

    def transfer(self, size):
        """Seconds that so many bytes take to be sent."""
        rate = self.network["bits_per_second"]
        return size * 8 / rate if rate > 0 else 0.0

    def pieces(self, data):
        """The data as it arrives: `(seconds, piece)`."""
        rate = self.network["bits_per_second"]
        if rate <= 0:
            return [(0.0, data)]
        size = max(1, int(rate / 8 / PIECES))
        ends = range(size, len(data) + size, size)
        return [(self.transfer(min(end, len(data))), data[end - size : end]) for end in ends]

    def cuts(self, names, port):
        """Whether a host, known under these names, is out of reach."""
        return any(
            (host is None or host in names) and (cut is None or cut == port)
            for host, cut in self.partition
        )
