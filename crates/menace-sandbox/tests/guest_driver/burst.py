"""Concurrency bursts: many runs of one section at once."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, Sequence

from cases import case, equal, guest, new
from driving import HARNESS, Guest, Report

TEXT = """
    import asyncio, itertools, os, queue, random, threading, time, tempfile, uuid
    from time import sleep

    class Counter:
        total = 0
        def __init__(self):
            self.n = 0
            self.lock = threading.Lock()
            self.items = []
            self.by_thread = {}
        def racy(self):
            n = self.n
            self.n = n + 1
            return self.n
        def silent(self):
            self.n += 1
        def class_wide(self):
            Counter.total += 1
        def sleepy(self):
            n = self.n
            time.sleep(0.5)
            self.n = n + 1
        def sleepy_by_name(self):
            n = self.n
            sleep(0.5)
            self.n = n + 1
        def sound(self):
            with self.lock:
                n = self.n
                time.sleep(0.01)
                self.n = n + 1
                return self.n
        def appends(self):
            self.items.append(1)
            return self.items
        def per_thread(self):
            self.by_thread[threading.get_ident()] = 1
        def pops(self):
            if not self.items:
                return None
            return self.items.pop()
        @property
        def next(self):
            self.n += 1
            return self.n

    def filled():
        counter = Counter()
        counter.items = [1, 2, 3]
        return counter

    count = 0
    def module_wide():
        global count
        helper()
    def helper():
        global count
        count = count + 1
    cache = {}
    def cached(key):
        if key not in cache:
            cache[key] = [key, key]
        return cache[key]
    numbers = itertools.count()
    def atomic():
        return next(numbers)

    first, second, flip = threading.Lock(), threading.Lock(), itertools.count()
    def locks_in_any_order():
        one, other = (first, second) if next(flip) % 2 else (second, first)
        with one:
            x = 1
            with other:
                x = 2
        return x
    def locks_in_order():
        with first:
            with second:
                return 2
    def chance():
        return [random.random() for _ in range(3)], time.time(), uuid.uuid4().hex
    def tokens():
        return ''.join(random.choice('abcdef') for _ in range(8))
    def hangs():
        threading.Lock().acquire() and time.sleep(1000)
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    def says():
        print('hello')
        return threading.current_thread() is threading.main_thread()
    def file_counter(path):
        n = int(open(path).read()) if os.path.exists(path) else 0
        with open(path, 'w') as file:
            file.write(str(n + 1))
        return None
    def temporary():
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + '/x', 'w') as file:
                file.write('x')
            return len(os.listdir(directory))
    def generator(n):
        for i in range(n):
            yield i
    def long(n):
        total = 0
        for i in range(n):
            total += i
        return total
    def in_pool():
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(abs, range(-5, 0)))

    balance = 0
    lock = None
    async def racy_task():
        global balance
        seen = balance
        await asyncio.sleep(0.1)
        balance = seen + 1
        return balance
    async def sound_task():
        await asyncio.sleep(1)
        return 5
    async def guarded_task():
        global balance, lock
        lock = lock or asyncio.Lock()
        async with lock:
            seen = balance
            await asyncio.sleep(0.1)
            balance = seen + 1
            return balance
    waiting = []
    async def waits_for_all():
        waiting.append(1)
        if len(waiting) > 1:
            await asyncio.Event().wait()
    async def items():
        for i in range(3):
            await asyncio.sleep(0)
            yield i
"""
SOON = 8000


def burst(
    one: Guest,
    name: str,
    args: Sequence[object] = (),
    threads: int = 6,
    tasks: int = 12,
    **more: Any,
) -> tuple[Report | None, Report]:
    full = one.call("m:" + name, args, burst=[threads, tasks, SOON], **more)
    return full.get("burst"), full


def method(
    one: Guest, name: str, maker: str = "m:Counter", **more: Any
) -> tuple[Report | None, Report]:
    return burst(one, "Counter." + name, kind="method", receiver=new(maker), **more)


def is_sound(report: Report | None, full: Report) -> None:
    assert report is not None, full["notes"]
    found = (report["deadlocked"], report["raised"], report["differs"])
    equal(found, (False, [], False))
    equal(report["finished"], report["threads_spawned"] + report["tasks_spawned"])


@case
def lost_updates_are_found_in_results_and_in_what_is_left() -> None:
    with guest(TEXT) as one:
        for name in ("racy", "silent", "class_wide", "sleepy", "sleepy_by_name"):
            for threads in (2, 8):
                report, full = method(one, name, threads=threads)
                assert report and report["differs"], (name, threads, report, full["notes"])
                equal((report["finished"], report["threads_spawned"]), (threads, threads))
        report, _ = burst(one, "module_wide")
        assert report["differs"], report
        report, _ = burst(one, "Counter.next", kind="property", receiver=new("m:Counter"))
        assert report["differs"], report


@case
def the_same_seed_finds_the_same() -> None:
    with guest(TEXT) as one:
        for name, more in (("racy", {}), ("sleepy", {}), ("pops", {"maker": "m:filled"})):
            for seed in (1, 2):
                reports = [method(one, name, seed=seed, **more)[0] for _ in range(3)]
                equal(reports[1:], reports[:1] * 2, name)


@case
def sound_sections_are_not_reported() -> None:
    with guest(TEXT) as one:
        for name in ("sound", "appends", "per_thread"):
            is_sound(*method(one, name))
        for name, args in (
            ("cached", ["k"]),
            ("atomic", []),
            ("locks_in_order", []),
            ("chance", []),
            ("tokens", []),
            ("temporary", []),
            ("generator", [3]),
            ("in_pool", []),
        ):
            report, full = burst(one, name, args)
            is_sound(report, full)
            equal(
                (full["kind"], full["leaked_threads"], full["leaked_descriptors"]),
                ("returned", [], []),
            )
        equal(burst(one, "generator", [3])[0]["distinct_results"], 1)
        equal(burst(one, "atomic")[0]["distinct_results"], 6)


@case
def without_proc_locks_are_waited_for_and_deadlocks_are_found() -> None:
    """As without namespaces, where `/proc` cannot be read."""
    with tempfile.TemporaryDirectory(prefix="menace-harness-") as directory:
        harness = os.path.join(directory, "guest")
        shutil.copytree(HARNESS, harness)
        with open(harness + "/concurrency/thread_state.py") as file:
            text = file.read()
        assert '"/proc/self/task"' in text
        with open(harness + "/concurrency/thread_state.py", "w") as file:
            file.write(text.replace('"/proc/self/task"', '"/nowhere"'))
        with guest(TEXT, harness=harness) as one:
            for threads in (6, 24):
                is_sound(*method(one, "sound", threads=threads))
            report, _ = method(one, "racy")
            assert report["differs"], report
            report, full = burst(one, "locks_in_any_order", threads=8)
            equal((report["deadlocked"], full["kind"]), (True, "returned"))


@case
def exceptions_that_a_run_alone_does_not_raise_are_named() -> None:
    with guest(TEXT) as one:
        report, full = method(one, "pops", maker="m:filled", threads=8)
        equal(report["raised"], ["IndexError"])
        equal((full["kind"], full["value"]["value"]), ("returned", 3))


@case
def deadlocks_are_found_soon_and_the_call_goes_on() -> None:
    with guest(TEXT) as one:
        report, full = burst(one, "locks_in_any_order")
        equal((report["deadlocked"], full["kind"]), (True, "returned"))
        assert report["finished"] < 6, report
        equal(burst(one, "locks_in_any_order")[0], report)


@case
def a_hang_without_concurrency_is_not_reported_as_a_deadlock() -> None:
    with guest(TEXT) as one:
        report_state, short, full = one.call_and_kill("m:hangs", 6.0, burst=[4, 4, 4000])
        equal((report_state, full), (1, None))
        report, full = burst(one, "long", [200_000], threads=3)
        is_sound(report, full)


@case
def the_call_itself_is_a_run_alone() -> None:
    with guest(TEXT, files={"n.txt": "4"}) as one:
        report, full = method(one, "racy")
        equal((full["value"]["value"], full["leaked_threads"]), (1, []))
        report, full = burst(one, "says")
        equal((full["value"]["value"], one.text()), (True, "hello\n"))
        report, full = burst(one, "file_counter", ["n.txt"])
        assert report["differs"], (report, full["notes"])
        with open(one.home + "/n.txt") as file:
            equal(file.read(), "5")
        report, full = burst(one, "file_counter", ["new.txt"])
        assert report["differs"], (report, full["notes"])
        equal("burst" in one.call("m:says"), False)


@case
def a_process_killed_by_a_burst_is_reported() -> None:
    text = """
        import os
        inside = []
        def f():
            inside.append(1)
            if len(inside) > 1:
                os.abort()
            inside.pop()
    """
    with guest(text) as one:
        report, full = burst(one, "f")
        equal((report["raised"], full["kind"]), (["signal 6"], "returned"))


@case
def tasks_are_run_at_once_too() -> None:
    with guest(TEXT) as one:
        report, full = burst(one, "racy_task")
        assert report["differs"], report
        equal((report["tasks_spawned"], report["threads_spawned"], report["finished"]), (12, 0, 12))
        equal(full["value"]["value"], 1)
        for name in ("sound_task", "guarded_task", "items"):
            is_sound(*burst(one, name))
        report, full = burst(one, "waits_for_all")
        assert report is None and any("did not end" in note for note in full["notes"]), full


@case
def tasks_that_wait_for_each_other_are_found() -> None:
    text = """
        import asyncio
        inside = 0
        event = None
        async def f():
            global inside
            inside += 1
            await asyncio.sleep(0)
            if inside > 1:
                await asyncio.get_event_loop().create_future()
            inside -= 1
    """
    with guest(text) as one:
        report, full = burst(one, "f")
        equal((report["deadlocked"], full["kind"]), (True, "returned"))


@case
def a_burst_and_coverage_go_together() -> None:
    with guest(TEXT) as one:
        full = one.call("m:locks_in_order", burst=[4, 4, SOON], coverage=True)
        assert full["burst"]["finished"] == 4 and full["coverage"][0][0] == "m.py", full
        equal(full["coverage"], one.call("m:locks_in_order", coverage=True)["coverage"])
