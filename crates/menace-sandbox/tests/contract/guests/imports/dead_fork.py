"""A fork at an odd time is dead before it has received its request."""

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


os.register_at_fork(before=count, after_in_child=die)
