"""Searches attack texts with `re`: which of them take ever longer, by the ratio of CPU times.

Reads a list of cases as JSON: pattern, flags, whether it is one of bytes, method, and attacks
(prefix, pump, suffix, whether it is exponential). Prints for each case whether one of its attacks
is as slow as it says.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from typing import Any

LONG_ENOUGH_SECONDS = 0.004
MAX_SIZE = 1 << 16


def cpu_seconds(call: Callable[[], object]) -> float:
    """The least of some measurements."""
    least = float("inf")
    for _ in range(3):
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
        if least > 10 * LONG_ENOUGH_SECONDS:
            break
    return least


def is_exponential(measure: Callable[[int], float]) -> bool:
    """Do a few more pumps multiply the time, however many there are already?"""
    size = 1
    while (seconds := measure(size)) < LONG_ENOUGH_SECONDS:
        size += 1
        if size > 200:
            return False
    return any(measure(size + more) > 4 * seconds for more in range(1, 1 + size // 4 + 2))


def is_polynomial(measure: Callable[[int], float]) -> bool:
    """Does a doubled size multiply the time by three?"""
    size = 32
    while (seconds := measure(size)) < LONG_ENOUGH_SECONDS:
        size *= 2
        if size > MAX_SIZE:
            return False
    return measure(2 * size) > 2.8 * seconds


def is_slow(case: dict[str, Any], attack: dict[str, Any]) -> bool:
    pattern: Any = case["pattern"]
    pattern = pattern.encode("latin-1") if case["is_bytes"] else pattern
    compiled = re.compile(pattern, case["flags"])
    search = getattr(compiled, case["method"])

    def measure(size: int) -> float:
        text: Any = attack["prefix"] + attack["pump"] * size + attack["suffix"]
        text = text.encode("latin-1") if case["is_bytes"] else text
        return cpu_seconds(lambda: search(text))

    return (is_exponential if attack["is_exponential"] else is_polynomial)(measure)


def main() -> None:
    cases = json.load(sys.stdin)
    print(json.dumps([[is_slow(case, one) for one in case["attacks"]] for case in cases]))


if __name__ == "__main__":
    main()
