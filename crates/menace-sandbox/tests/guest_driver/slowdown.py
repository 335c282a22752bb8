"""Measures what watching costs: how much slower calls are with coverage than without."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from typing import Any

from cases import guest
from driving import HARNESS, Guest
from under_test import PYTHON

TEXT = """
import json

def nothing():
    return None

def arithmetic(n=30_000):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
        else:
            total -= 1
    return total

def calls(n=10_000):
    return sum(called(i) for i in range(n))

def called(i):
    return i + 1

def library(n=20):
    data = {str(i): list(range(20)) for i in range(20)}
    for _ in range(n):
        data = json.loads(json.dumps(data))
    return len(data)
"""
ROUNDS = 15


def measure() -> None:
    """Prints the median processor time of each function's call, without and with coverage."""
    with tempfile.TemporaryDirectory() as directory:
        _measure(_compiled(os.path.join(directory, "harness")))


def _compiled(directory: str) -> str:
    """The harness as a sandbox has it."""
    shutil.copytree(HARNESS, directory)
    subprocess.check_call([PYTHON, "-I", "-m", "compileall", "-q", "-b", directory])
    return directory


def _measure(harness: str) -> None:
    with guest(TEXT, harness=harness) as one:
        for name in ("nothing", "arithmetic", "calls", "library"):
            plain, watched = [], []
            for _ in range(ROUNDS):
                plain.append(_took(one, name))
                watched.append(_took(one, name, coverage=True))
            before, after = statistics.median(plain), statistics.median(watched)
            print(f"{name}: {before:.3f} ms, watched {after:.3f} ms: {after / before:.1f} x")


def _took(one: Guest, name: str, **conditions: Any) -> float:
    """User and system time of the whole process, fork to end, in milliseconds."""
    one.call("m:" + name, **conditions)
    return (one.exited["utime"] + one.exited["stime"]) * 1000
