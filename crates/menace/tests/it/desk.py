"""Weak sections and their sound twins, for tests of failures."""

import base64
import json
import os
import shlex
import tempfile
import threading
import urllib.request
from typing import Dict, List


def mean(values: List[float]) -> float:
    return sum(values) / len(values)


def sound_mean(values: List[float]) -> float:
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def pick(values: List[int], at: int, note: str = "") -> int:
    return values[at]


def login(name: str) -> bytes:
    return base64.b64encode(name.encode("latin-1"))


def sound_login(name: str) -> bytes:
    return base64.b64encode(name.encode("utf-8", "replace"))


def collect(item: int, items: List[int] = []) -> int:
    items.append(item)
    return len(items)


def sound_collect(item: int, items: List[int] = []) -> int:
    return len([*items, item])


def size(text: str) -> int:
    handle, name = tempfile.mkstemp()
    os.unlink(name)
    return len(text)


def sound_size(text: str) -> int:
    handle, name = tempfile.mkstemp()
    os.close(handle)
    os.unlink(name)
    return len(text)


def save(data: Dict[str, int]) -> None:
    with open("state.json", "w") as file:
        json.dump(data, file)


def sound_save(data: Dict[str, int]) -> None:
    name = "state.json.%d" % threading.get_ident()
    try:
        with open(name, "w") as file:
            json.dump(data, file)
        os.replace(name, "state.json")
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise


def weather(city: str) -> int:
    with urllib.request.urlopen("http://weather.example/") as answer:
        return answer.status


def sound_weather(city: str) -> int:
    with urllib.request.urlopen("http://weather.example/", timeout=2) as answer:
        return answer.status


def greeting(name: str) -> int:
    return os.system("echo " + name)


def sound_greeting(name: str) -> int:
    return os.system("echo " + shlex.quote(name.replace("\0", "")))


class Seats:
    def __init__(self) -> None:
        self.free = 1000

    async def book(self, count: int) -> int:
        import asyncio

        if count <= 0 or count > self.free:
            raise ValueError("so many there are not")
        await asyncio.sleep(0)
        self.free -= count
        return self.free


class SoundSeats:
    def __init__(self) -> None:
        self.free = 1000

    async def book(self, count: int) -> int:
        import asyncio

        if count <= 0 or count > self.free:
            raise ValueError("so many there are not")
        self.free -= count
        left = self.free
        await asyncio.sleep(0)
        return left
