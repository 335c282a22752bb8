"""More weak sections and their sound twins: one for each kind that takes a call made for it."""

import ctypes
import os
import sqlite3
import tempfile
import threading
from collections import Counter
from typing import List


def peek(address: int) -> bytes:
    return ctypes.string_at(address)


def sound_peek(address: int) -> bytes:
    raise ValueError("no address of ours")


def countdown(start: int) -> int:
    while start != 0:
        start -= 1
    return start


def sound_countdown(start: int) -> int:
    while start > 0:
        start -= 1
    return start


def pairs(text: str) -> int:
    return sum(1 for one in text for other in text if one == other)


def sound_pairs(text: str) -> int:
    return sum(count * count for count in Counter(text).values())


def depth(steps: int) -> int:
    return 0 if steps <= 0 else 1 + depth(steps - 1)


def sound_depth(steps: int) -> int:
    return max(0, steps)


def page(name: str) -> str:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as file:
        return file.read()


def sound_page(name: str) -> str:
    if ".." in name:
        raise ValueError("there is no such page")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as file:
        return file.read()


def titled(title: str) -> List[tuple]:
    connection = sqlite3.connect(":memory:")
    try:
        return connection.execute("SELECT 1 WHERE 'quay' = '%s'" % title).fetchall()
    finally:
        connection.close()


def sound_titled(title: str) -> List[tuple]:
    connection = sqlite3.connect(":memory:")
    try:
        return connection.execute("SELECT 1 WHERE 'quay' = ?", (title,)).fetchall()
    finally:
        connection.close()


def pack(name: str) -> int:
    directory = tempfile.mkdtemp()
    return os.system("cd %s && : %s" % (directory, name))


def sound_pack(name: str) -> int:
    tempfile.mkdtemp()
    return len(name)


class Ledger:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.total = 0

    def post(self, amount: int) -> int:
        self.lock.acquire()
        if amount < 0:
            raise ValueError("nothing below zero")
        self.total += amount
        self.lock.release()
        return 0


class SoundLedger:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.total = 0

    def post(self, amount: int) -> int:
        with self.lock:
            if amount < 0:
                raise ValueError("nothing below zero")
            self.total += amount
        return 0
