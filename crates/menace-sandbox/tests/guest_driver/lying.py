"""What the harness notices when a guest tampers with it, and what it does not take for that."""

from __future__ import annotations

import errno
import marshal
import os
import time
from typing import Any

from cases import case, equal, guest
from driving import Guest

PATCHING = """
    import os, sys
    def names_of(module):
        frame = sys._getframe()
        while frame.f_globals.get('__name__') != module:
            frame = frame.f_back
        return frame.f_globals
    def find_zygote():
        frame = sys._getframe()
        while 'zygote' not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals['zygote']
    def f(*_):
        return 1
    child = names_of('runtime.child')
    {}
"""


def violations(one: Guest) -> list[Any]:
    """Those that were published as they happened."""
    slots = [one.box[at : at + 704] for at in range(32768, 32768 + one.box[44] * 704, 704)]
    return [marshal.loads(slot[2:]) for slot in slots]


def changes(statement: str) -> list[str]:
    """What an import with this statement is said to have changed."""
    with guest(PATCHING.format(statement)) as one:
        assert one.imported is not None
        equal(one.imported["ok"], True, one.text())
        found = violations(one)
        assert all(kind == "patched_harness" for kind, _ in found), found
        return [what for _, what in found]


@case
def changes_of_the_harness_are_named() -> None:
    child = "runtime.child."
    for statement, named in {
        "child['publish'].__code__ = f.__code__": child + "publish",
        "child['publish'].__defaults__ = (1,)": child + "publish",
        "child['publish'].__kwdefaults__ = {'x': 1}": child + "publish",
        "child['_exit'] = f": child + "_exit",
        "child['more'] = f": child + "more",
        "del child['KEYS']": child + "KEYS",
        "child['__builtins__']['len'] = f": "builtins.len",
        "child['CallProgress'].stop_clock = f": "runtime.call.CallProgress.stop_clock",
        "type(find_zygote().audit)._note.__code__ = f.__code__": "state.audit.Audit._note",
        "find_zygote().ops['fork_ahead'] = f": "zygote.ops.fork_ahead",
        "find_zygote().import_hooks = f": "zygote.import_hooks",
        "find_zygote().mailbox.map = bytearray(9)": "zygote.mailbox.map",
        "sys.addaudithook(f)": "an audit hook",
    }.items():
        equal(changes(statement), [named], statement)


@case
def what_imports_usually_change_is_not_the_harness() -> None:
    for statement in (
        "pass",
        "import random, logging, threading, concurrent.futures.thread, asyncio, json, socket",
        "import builtins; builtins.len = f",
        "os.getpid = os.fork = sys.exit = f",
        "import posix; posix._exit = posix.write = f",
        "sys.setrecursionlimit(500)",
        "os.register_at_fork(before=f, after_in_child=f)",
    ):
        equal(changes(statement), [], statement)


@case
def code_that_runs_in_forks_is_named_unless_it_is_of_the_library() -> None:
    note = "its import runs code in each fork: m.f, functools.partial"
    hooks = "os.register_at_fork(before=f, after_in_child=functools.partial(f))"
    for statement, notes in (
        ("import random, logging, threading, concurrent.futures.thread, multiprocessing.util", []),
        ("import functools; " + hooks, [note]),
    ):
        with guest(PATCHING.format(statement)) as one:
            equal(one.call("m:f")["notes"], notes)


CHANGE = """
        def change():
            child['publish'].__code__ = f.__code__
"""


def patching(text: str) -> str:
    return PATCHING.format(text.replace("\n        ", "\n    ").strip())


@case
def what_a_fork_changes_is_found_before_the_call() -> None:
    """Whatever the function looks like, and however it was registered."""
    for registering in (
        "os.register_at_fork(after_in_child=change)",
        "os.register_at_fork(before=change)",
        "change.__code__ = change.__code__.replace(co_filename=os.__file__)\n"
        "        os.register_at_fork(after_in_child=change)",
        "import threading\n"
        "        change.__module__, change.__qualname__ = 'threading', '_after_fork'\n"
        "        os.register_at_fork(after_in_child=change)",
        "import gc\n"
        "        os.register_at_fork(before=f)\n"
        "        [one.append(change) for one in gc.get_referrers(f) if type(one) is list]",
    ):
        with guest(patching(CHANGE + "        " + registering)) as one:
            for _ in range(2):
                report_state, short, full = one.call_and_kill("m:f", 5.0)
                seen = (report_state, short, full, one.exited["status"] >> 8)
                equal(seen, (1, None, None, 73), registering)
                expected = [["patched_harness", "runtime.child.publish"]]
                equal(violations(one), expected, registering)


@case
def what_is_registered_for_forks_runs_in_the_process_of_a_call_alone() -> None:
    text = """
        import os
        ran = []
        os.register_at_fork(
            before=lambda: ran.append(("before", os.getpid())),
            after_in_child=lambda: ran.append(("child", os.getpid())),
            after_in_parent=lambda: ran.append(("parent", os.getpid())),
        )
        os.register_at_fork(before=lambda: ran.append(("first", os.getpid())), after_in_child=id)
        def f():
            assert {pid for _, pid in ran} == {os.getpid()}
            return [what for what, _ in ran]
        def fork():
            del ran[:]
            child = os.fork()
            if child == 0:
                os._exit(ran[-1] != ("child", os.getpid()))
            _, status = os.waitpid(child, 0)
            return [status] + [what for what, _ in ran]
    """
    with guest(text) as one:
        for _ in range(3):
            full = one.call("m:f")
            equal(full["value"]["repr"], "['first', 'before', 'child']")
            # As an error of any function that is called in a fork, which Python prints.
            assert "code that runs in each fork raised TypeError" in full["notes"], full["notes"]
            equal(one.call("m:fork")["value"]["repr"], "[0, 'first', 'before', 'parent']")


@case
def what_is_registered_for_forks_can_use_up_no_memory_of_the_zygote() -> None:
    text = """
        import os
        kept = []
        os.register_at_fork(before=lambda: kept.append(bytes(1 << 20)))
        def f():
            return len(kept)
    """
    with guest(text) as one:
        for _ in range(3):
            equal(one.call("m:f")["value"]["value"], 1)


@case
def an_exit_status_that_a_thread_took_is_not_invented() -> None:
    text = """
        import os, threading
        def take():
            while True:
                try:
                    os.waitpid(-1, 0)
                except ChildProcessError:
                    import time
                    time.sleep(0.001)
        threading.Thread(target=take, daemon=True).start()
        def f():
            return 1
    """
    with guest(text) as one:
        forked = one.start_call("m:f")
        one.let_go()
        while os.path.exists(f"/proc/{forked['pid']}"):
            time.sleep(0.001)
        reaped = one.ask({"op": "reap", "pid": forked["pid"]})
        equal(reaped, {"op": "reaped", "errno": errno.ECHILD})


@case
def a_thread_that_changes_the_harness_after_the_import_is_found() -> None:
    text = """
        import threading, time
        def change():
            time.sleep(0.1)
            child['publish'].__code__ = f.__code__
        threading.Thread(target=change, daemon=True).start()
    """
    with guest(patching(text)) as one:
        time.sleep(0.5)
        report_state, short, full = one.call_and_kill("m:f", 5.0)
        equal((report_state, short, full, one.exited["status"] >> 8), (1, None, None, 73))
        equal(violations(one), [["patched_harness", "runtime.child.publish"]])


MARKS = """
    def memory():
        frame = __import__('sys')._getframe()
        while 'zygote' not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals['zygote'].mailbox.map
    def mark():
        return int.from_bytes(memory()[48:52], 'little')
    def end():
        memory()[48:52] = (mark() + 1).to_bytes(4, 'little')
    def again():
        # As the init answers when it sees the end.
        memory()[52:56] = (mark() + 1).to_bytes(4, 'little')
"""
FAULTS = [["disk", "nth", 1000]]


@case
def the_exit_status_is_known_even_if_children_are_ignored() -> None:
    text = """
        import os, signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        def handler():
            return int(signal.getsignal(signal.SIGCHLD))
        def leave():
            os._exit(3)
    """
    with guest(text) as one:
        for _ in range(2):
            full = one.call("m:handler")
            equal((full["value"]["value"], full["state_changes"]["signals"]), (1, []))
            one.call_and_kill("m:leave", 5.0)
            equal(one.exited["status"], 3 << 8)


@case
def sections_with_faults_are_counted() -> None:
    step = {"receiver": None, "args": [], "kwargs": [], "needs_no_building": True}
    target = {"module": "m", "path": None, "qualname": "mark", "kind": "function"}
    with guest(MARKS) as one:
        equal(one.call("m:mark", faults=FAULTS)["value"]["value"], 1)
        equal(one.box[48:52], b"\x02\0\0\0")
        one.call("m:mark", faults=FAULTS, steps=[dict(step, target=target) for _ in range(3)])
        equal(one.box[48:52], b"\x06\0\0\0")
        equal(one.call("m:mark")["value"]["value"], 0)
        equal(one.box[48:52], bytes(4))


@case
def a_section_ends_for_its_own_process_alone() -> None:
    text = (
        MARKS
        + """
    def f():
        import os
        child = os.fork()
        if child == 0:
            return 0
        os.waitpid(child, 0)
        return mark()
    def interrupt():
        import sys
        def hook(frame, event, what):
            if event == 'c_call' and frame.f_code.co_name == '_run':
                raise ValueError
        sys.setprofile(hook)
    """
    )
    with guest(text) as one:
        equal(one.call("m:f", faults=FAULTS)["value"]["value"], 1)
        equal(one.box[48:52], b"\x02\0\0\0")
        one.call("m:interrupt", faults=FAULTS)
        equal(one.box[48:52], b"\x02\0\0\0")


@case
def an_end_that_is_not_the_harnesss_own_is_marked() -> None:
    with guest(MARKS) as one:
        for name in ("end", "again"):
            one.call("m:" + name, faults=FAULTS)
            equal(one.box[48:52], b"\xff\xff\xff\xff", name)


@case
def a_flood_of_violations_leaves_room_for_each_kind() -> None:
    text = """
        import os
        def attempt(function, *args):
            try:
                function(*args)
            except OSError:
                pass
        def f():
            for number in range(40):
                attempt(open, '/nowhere/%d' % number)
            for number in range(40):
                attempt(os.mkdir, '/nowhere/%d' % number)
            attempt(os.listdir, '/')
    """
    with guest(text) as one:
        found = one.call("m:f")["violations"]
        equal(len([kind for kind, _ in found if kind == "read"]), 32)
        equal(
            [what for what in found if what[0] != "read"], [["mkdir", "/nowhere/0"], ["list", "/"]]
        )
        equal(violations(one), found)
        equal(int.from_bytes(one.box[56:60], "little"), 39)
