import math
import time

import pytest


def quickest(call):
    """Processor time in seconds, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        with contextlib.suppress(Exception):
            use(call())
        times.append(time.process_time() - began)
    return min(times)


def grows_gently(calls):
    """Fails when time grows much faster than the size, at each step; takes calls by their size.

    A busy machine hides it now and then, and hardly ever makes it up: three times are enough.
    """
    sizes = sorted(calls)
    for _ in range(3):
        times = {size: quickest(calls[size]) for size in sizes}
        if times[sizes[0]] < 0.004:
            return
        steps = [
            math.log(times[large] / times[small]) / math.log(large / small)
            for small, large in zip(sizes, sizes[1:])
        ]
        if all(step > 1.6 for step in steps):
            pytest.fail("time grows with the size to the power of %.1f: %r" % (max(steps), times))
