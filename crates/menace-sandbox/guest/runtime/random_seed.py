"""Makes the guest's random numbers depend on the call's seed alone.

`random` and `numpy.random` are seeded when they are loaded, and before each call if the import has
loaded them. Sources that use the kernel (`secrets`, `uuid4`, `SystemRandom`) are not changed.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from types import ModuleType

    from runtime.import_hooks import ImportHooks

_modules = sys.modules
_NUMPY_SEEDS = 1 << 32


class RandomSeed:
    """The seed of the current call."""

    __slots__ = ("loaded", "seed")

    def __init__(self, seed: int, import_hooks: ImportHooks) -> None:
        self.seed = seed
        self.loaded = False
        import_hooks.add("random", self._seed_random)
        import_hooks.add("numpy.random", self._seed_numpy)

    def start(self, seed: int) -> None:
        """Seeds the generators for a call."""
        self.seed = seed
        if not self.loaded:
            return
        if "random" in _modules:
            self._seed_random(_modules["random"])
        if "numpy.random" in _modules:
            self._seed_numpy(_modules["numpy.random"])

    def _seed_random(self, module: ModuleType) -> None:
        self.loaded = True
        # A module of the guest may have this name; only the real generator is seeded.
        try:
            generator = module.__dict__["_inst"]
            if issubclass(type(generator), _modules["_random"].Random):
                type(generator).seed(generator, self.seed)
        except Exception:
            pass

    def _seed_numpy(self, module: ModuleType) -> None:
        self.loaded = True
        try:
            module.__dict__["seed"](self.seed % _NUMPY_SEEDS)
        except Exception:
            pass
