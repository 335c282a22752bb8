"""Leaves many files."""

import os

for number in range(20_000):
    with open(os.path.join(os.environ["TMPDIR"], str(number)), "w"):
        pass


def fine():
    return len(os.listdir(os.environ["TMPDIR"]))


def loop():
    while True:
        pass
