import math
import time

import pytest


def fastest_run(call):
    """CPU seconds of the call, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        with contextlib.suppress(Exception):
            consume(call())
        times.append(time.process_time() - began)
    return min(times)


def scales_well(calls):
    """Fails when the time grows much faster than the size of the input.

    Takes calls by their size. Three attempts, because other load on the machine disturbs the
    measurement.
    """
    sizes = sorted(calls)
    for _ in range(3):
        times = {size: fastest_run(calls[size]) for size in sizes}
        if times[sizes[0]] < 0.001:
            return
        steps = [
            math.log(times[large] / times[small]) / math.log(large / small)
            for small, large in zip(sizes, sizes[1:])
        ]
        if all(step > 1.6 for step in steps):
            pytest.fail(f"time grows with the size to the power of {max(steps):.1f}: {times!r}")
