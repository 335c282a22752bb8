"""Sections that are safe when they run concurrently, and some that are not."""

import asyncio
import itertools
import threading


def fine():
    return "fine"


class Counter:
    """Shared by all callers of its methods."""

    def __init__(self):
        self.n = 0
        self.lock = threading.Lock()
        self.items = [1, 2, 3]

    def racy(self):
        """Loses updates when another thread comes between."""
        n = self.n
        self.n = n + 1
        return self.n

    def sound(self):
        """Loses none."""
        with self.lock:
            n = self.n
            self.n = n + 1
            return self.n

    def forgetful(self):
        """Takes the lock, and lets go of it only when all is well."""
        self.lock.acquire()
        raise ValueError("not today")

    def pop(self):
        """Looks, and then takes what may be gone by then."""
        if not self.items:
            return None
        return self.items.pop()


first, second, flip = threading.Lock(), threading.Lock(), itertools.count()


def locks_in_any_order():
    """Holds one lock and waits for the other, and another thread the other way round."""
    one, other = (first, second) if next(flip) % 2 else (second, first)
    with one:
        taken = 1
        with other:
            taken = 2
    return taken


def plain(x):
    return x + 1


def count_in_file(path):
    """Reads a number and writes the next one."""
    with open(path) as file:
        n = int(file.read())
    with open(path, "w") as file:
        file.write(str(n + 1))
    return n + 1


def content(path):
    with open(path) as file:
        return file.read()


balance = 0


async def racy_task():
    """Waits between reading and writing."""
    global balance
    seen = balance
    await asyncio.sleep(0.1)
    balance = seen + 1
    return balance


async def sound_task():
    await asyncio.sleep(1)
    return 5


inside = 0


async def stuck_concurrently():
    """Waits for ever for a task that is inside already."""
    global inside
    inside += 1
    await asyncio.sleep(0)
    if inside > 1:
        await asyncio.get_running_loop().create_future()
    inside -= 1


def module_state():
    """What the runs would have left if they were not kept apart."""
    return [balance, inside, next(flip)]


def threads():
    return threading.active_count()
