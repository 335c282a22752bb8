"""What a call leaves, changes and tries beside its result."""

from __future__ import annotations

import os
import time
from typing import Any, Sequence

from cases import case, equal, guest, new


@case
def leftover_threads_are_named() -> None:
    text = """
        import threading, time
        def f():
            threading.Thread(target=time.sleep, args=(30,), name='sleeper', daemon=True).start()
            return 1
        def busy():
            def spin():
                while True:
                    pass
            threading.Thread(target=spin, name='spinner').start()
            return 1
        def raw():
            import _thread
            _thread.start_new_thread(time.sleep, (30,))
            time.sleep(0.05)
    """
    with guest(text) as one:
        began = time.monotonic()
        equal(one.call("m:f")["leaked_threads"], ["sleeper"])
        equal(one.call("m:busy")["leaked_threads"], ["spinner"])
        equal(len(one.call("m:raw")["leaked_threads"]), 1)
        assert time.monotonic() - began < 5


@case
def leftover_descriptors_are_listed() -> None:
    text = """
        import os, socket
        def f():
            global kept
            kept = open(__file__), os.pipe(), socket.socket()
        def none():
            with open(__file__) as f:
                return f.readline()
        def low():
            os.close(0)
            return os.open('/dev/null', 0)
        def flood():
            global kept
            kept = []
            try:
                while True:
                    kept.append(os.open('/dev/null', 0))
            except OSError:
                return len(kept)
    """
    with guest(text) as one:
        found = [what for _, what in one.call("m:f")["leaked_descriptors"]]
        equal(sorted(found), sorted([one.home + "/m.py", "pipe", "pipe", "socket"]))
        equal(one.call("m:none")["leaked_descriptors"], [])
        equal(one.call("m:low")["leaked_descriptors"], [])
        full = one.call("m:flood", rlimits=[[7, 64, 64]])
        assert len(full["leaked_descriptors"]) >= 50


@case
def what_instances_and_arguments_hold_is_not_the_sections() -> None:
    text = """
        class Store:
            def __init__(self, path):
                self.file = open(path)
            def read(self):
                return 1
            def leak(self):
                global kept
                kept = open(__file__)
                return 1
        def use(store):
            return 1
    """
    with guest(text) as one:
        store = new("m:Store", one.home + "/m.py")
        equal(one.call("m:Store.read", [], "method", store)["leaked_descriptors"], [])
        equal(one.call("m:use", [store])["leaked_descriptors"], [])
        left = one.call("m:Store.leak", [], "method", store)["leaked_descriptors"]
        equal([what for _, what in left], [one.home + "/m.py"])


@case
def changes_of_the_process_are_reported() -> None:
    text = """
        import os, signal, sys
        os.environ['GONE'] = '1'
        def f():
            os.environ['NEW'] = 'x'
            del os.environ['GONE']
            os.chdir('/')
            sys.setrecursionlimit(2345)
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            import colorsys
        def same():
            os.environ['PATH'] = os.environ.get('PATH', '')
            return os.getcwd()
        def replaced():
            os.environ = {}
    """
    with guest(text) as one:
        changed = one.call("m:f")["state_changes"]
        equal(changed["environ"], ["GONE", "NEW"])
        equal((changed["cwd"], changed["recursion_limit"]), ("/", 2345))
        equal((changed["signals"], changed["modules"]), ([10], 1))
        os.symlink(one.home, one.home + "/link")
        full = one.call("m:same", cwd=one.home + "/link")
        nothing = {
            "environ": [],
            "cwd": None,
            "modules": 0,
            "signals": [],
            "recursion_limit": None,
            "defaults": [],
        }
        equal(full["state_changes"], nothing)
        equal(full["value"]["value"], os.path.realpath(one.home))
        equal(one.call("m:replaced")["state_changes"]["environ"], ["os.environ"])


@case
def the_call_leads_a_session_of_its_own_in_its_directory() -> None:
    text = "import os\ndef f():\n    return os.getsid(0) == os.getpid(), os.getcwd()"
    with guest(text) as one:
        equal(one.call("m:f", cwd="/")["value"]["value"], ("t", [True, "/"]))


@case
def files_outside_the_roots_are_violations() -> None:
    text = """
        import os, socket
        def f():
            for path in ('/etc/passwd', '/etc/passwd', 'm.py', '../outside', '/etc/../etc/hosts'):
                try:
                    open(path).close()
                except OSError:
                    pass
            for action in (
                lambda: open('/nowhere/at/all', 'w'),
                lambda: os.remove('/nowhere/r'),
                lambda: os.rename('m.py', '/nowhere/n'),
                lambda: os.mkdir('/nowhere/d'),
                lambda: os.listdir('/proc/self'),
                lambda: os.symlink('/etc', '/nowhere/s'),
                lambda: os.open(b'/nowhere/b', os.O_RDWR),
                lambda: os.chmod('/nowhere/c', 0),
            ):
                try:
                    action()
                except OSError:
                    pass
            s = socket.socket()
            try:
                s.connect(('127.0.0.1', 9))
            except OSError:
                pass
        def inside():
            with open('new.txt', 'w') as file:
                file.write('x')
            os.remove('new.txt')
            import colorsys
            return os.listdir()
        def many():
            for i in range(100):
                try:
                    open('/nowhere/%d' % i)
                except OSError:
                    pass
    """
    with guest(text) as one:
        outside = os.path.dirname(one.home) + "/outside"
        expected = [
            ["read", "/etc/passwd"],
            ["read", outside],
            ["read", "/etc/hosts"],
            ["write", "/nowhere/at/all"],
            ["remove", "/nowhere/r"],
            ["rename", "/nowhere/n"],
            ["mkdir", "/nowhere/d"],
            ["list", "/proc/self"],
            ["symlink", "/nowhere/s"],
            ["write", "/nowhere/b"],
            ["chmod", "/nowhere/c"],
            ["connect", "127.0.0.1:9"],
        ]
        equal(one.call("m:f")["violations"], expected)
        equal(one.call("m:inside")["violations"], [])
        equal(len(one.call("m:many")["violations"]), 32)
    with guest("open('/etc/passwd')") as one:
        equal(one.report()[2]["violations"], [["read", "/etc/passwd"]])


@case
def defaults_that_the_call_changed_are_named() -> None:
    text = """
        import functools
        from collections import defaultdict
        def f(x, items=[], *, seen={}, kept=(1, [2])):
            items.append(x)
            return len(items)
        def named(x, *, seen=defaultdict(list)):
            seen[x].append(x)
        def inner(x, table={'a': [1]}):
            table['a'].append(x)
        def put_back(x, items=[1]):
            items.append(x)
            items.pop()
        def given(items=[]):
            items.append(1)
        def ring(items=[[]], other=set()):
            items[0].append(items)
        def fails(items=[]):
            items.append(1)
            raise ValueError
        class Hostile(list):
            def __eq__(self, other):
                raise RuntimeError
            __iter__ = __getitem__ = __len__ = __eq__
            __hash__ = None
        def hostile(items=Hostile()):
            list.append(items, Hostile())
        def decorated(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper
        @decorated
        def wrapped(items=[]):
            items.append(1)
        class A:
            def __init__(self, items=[]):
                items.append(1)
            def method(self, items=[]):
                items.append(1)
        def generator(items=[]):
            items.append(1)
            yield 1
    """
    with guest(text) as one:

        def changed(name: str, args: Sequence[object] = (), **more: Any) -> list[str]:
            return one.call("m:" + name, args, **more)["state_changes"]["defaults"]

        equal(changed("f", [1]), ["items"])
        equal(changed("named", [1]), ["seen"])
        equal(changed("inner", [1]), ["table"])
        equal(changed("put_back", [1]), [])
        equal(changed("given", [("l", [])]), [])
        equal(changed("ring"), ["items"])
        for name in ("fails", "hostile", "wrapped", "A", "generator"):
            equal(changed(name), ["items"], name)
        equal(changed("A.method", receiver=new("m:A"), kind="method"), ["items"])
        # The next call has a fresh one.
        equal(one.call("m:f", [1])["value"]["value"], 1)
