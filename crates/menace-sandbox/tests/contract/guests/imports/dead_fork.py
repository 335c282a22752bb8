"""A fork at an odd time is dead before it has received its request."""

import ctypes
import os

forks = 0


def fine():
    return "fine"


def echo(value):
    return value


def count():
    global forks
    forks += 1


def die():
    if forks % 2:
        os._exit(3)


# Python knows of these no more than of any code in C: what is registered with it runs later.
HANDLERS = [ctypes.CFUNCTYPE(None)(function) for function in (count, die)]
ctypes.CDLL(None)["__register_atfork"](HANDLERS[0], None, HANDLERS[1], None)
