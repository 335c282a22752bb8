"""Leaves more empty files than a small disk has blocks."""

import os

for number in range(200):
    with open(os.path.join(os.environ["TMPDIR"], str(number)), "w"):
        pass


def left():
    return len(os.listdir(os.environ["TMPDIR"]))
