"""Everything that chance or the clock decides."""

import datetime
import random
import time

AT_IMPORT = random.random()


def fine():
    return "fine"


def numbers():
    return [random.random() for _ in range(3)], random.Random(5).random()


def at_import():
    return AT_IMPORT


def order():
    return list({"one", "two", "three", "four", "five", "six", "seven", "eight"}), hash("x")


def addresses():
    return id(None), id(dict), repr(None.__class__.__init__)


def now():
    return time.time(), datetime.datetime.now(datetime.timezone.utc).timestamp()


def later():
    time.sleep(0.01)
    return time.time()


def elapsed():
    start = time.monotonic()
    time.sleep(0.02)
    return time.monotonic() - start
