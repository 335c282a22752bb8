"""Sections that crash or are killed; `HERE` marks where they were."""

import ctypes
import faulthandler
import os
import re
import signal
import threading
import time


def fine():
    return "fine"


def aborts():
    os.abort()  # HERE: aborts


def reads_nothing():
    return ctypes.string_at(0)  # HERE: reads_nothing


def sleeps():
    time.sleep(60)  # HERE: sleeps


def waits_for_a_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()  # HERE: waits_for_a_lock


def waits_for_a_thread():
    worker = threading.Thread(target=sleeps, daemon=True)
    worker.start()
    worker.join()  # HERE: waits_for_a_thread


def matches():
    text = "a" * 40
    return re.match("(a+)+b", text)  # HERE: matches


def goes_round():
    total = 0
    while True:  # AMONG: goes_round
        total += 1
        total -= 1
        total += 2
        total -= 2
        # END: goes_round


def calls_endless_loop():
    return goes_round()  # HERE: calls_endless_loop


def goes_down(depth):
    if depth == 0:
        return 1
    return goes_down(depth - 1) + goes_down(depth - 1)  # HERE: goes_down


def never_ends():
    number = 0
    while True:
        number += 1
        yield number  # HERE: never_ends


async def never_ends_either():
    while True:
        yield 1  # HERE: never_ends_either


def closes_everything():
    os.closerange(3, 2048)
    time.sleep(60)


def is_deaf():
    faulthandler.disable()
    faulthandler.unregister(64)
    os.abort()


def tells_lies(text):
    """Writes it to whatever takes it, and ends without a report."""
    for number in range(3, 2048):
        try:
            os.write(number, text.encode())
        except OSError:
            pass
    os._exit(0)


def returns_when_asked():
    signal.signal(signal.SIGRTMAX, lambda *_: None)
    signal.pause()
    return "late"
