"""Leaves a daemon behind, twice forked."""

import os
import time

if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(0.05)


def fine():
    return "fine"
