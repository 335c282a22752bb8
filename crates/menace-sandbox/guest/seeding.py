# ruff: noqa: BLE001, S110 (the guest may raise anything, anywhere)
"""Makes the guest's random numbers depend on the call's seed alone.

`random` and `numpy.random` are seeded when they are loaded, and before each call when they were
loaded by the import. What asks the kernel (`secrets`, `uuid4`, `SystemRandom`) is not touched.
"""

import sys

_modules = sys.modules
_NUMPY_SEEDS = 1 << 32


class Seeding:
    """The seed in force."""

    __slots__ = ("loaded", "seed")

    def __init__(self, seed, afterwards):
        self.seed = seed
        self.loaded = False
        afterwards.add("random", self._seed_random)
        afterwards.add("numpy.random", self._seed_numpy)

    def start(self, seed):
        """Begins a call with its seed."""
        self.seed = seed
        if not self.loaded:
            return
        if "random" in _modules:
            self._seed_random(_modules["random"])
        if "numpy.random" in _modules:
            self._seed_numpy(_modules["numpy.random"])

    def _seed_random(self, module):
        self.loaded = True
        # A module of the guest's may have this name; only the real generator is seeded.
        try:
            generator = module.__dict__["_inst"]
            if issubclass(type(generator), _modules["_random"].Random):
                type(generator).seed(generator, self.seed)
        except Exception:
            pass

    def _seed_numpy(self, module):
        self.loaded = True
        try:
            module.__dict__["seed"](self.seed % _NUMPY_SEEDS)
        except Exception:
            pass
