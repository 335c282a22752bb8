"""Calls that patch, close, fork, trace or die do not change what the harness does."""

import time

from cases import case, equal, guest, result_of
from under_test import VERSION


@case
def patched_modules_do_not_change_the_harness() -> None:
    text = """
        import builtins, gc, io, os, posix, sys, time, marshal, _signal, _thread, resource
        def boom(*a, **k):
            raise RuntimeError('patched')
        import json, mmap
        def patch(modules):
            for module in modules:
                for name in dir(module):
                    if callable(getattr(module, name)) and not name.startswith('__'):
                        try:
                            setattr(module, name, boom)
                        except Exception:
                            pass
        # The interpreter's own import machinery needs `_thread` and the builtins to the end.
        patch((os, posix, time, marshal, _signal, resource, gc, json, mmap))
        sys.stdout = sys.stderr = sys.modules['io'] = None
        def patch_all():
            patch((_thread, sys))
            for name in ('len', 'repr', 'str', 'type', 'isinstance', 'issubclass', 'sorted',
                         'list', 'tuple', 'id', 'round', 'max', 'min', 'range', 'getattr', 'hex',
                         'open', 'print', 'int', 'bytes', 'BaseException', 'OSError', 'dict',
                         '__import__', 'frozenset', '__build_class__'):
                setattr(builtins, name, boom)
        def f(x):
            patch_all()
            return [x, {x: (x,)}]
        def g():
            error = ValueError('as usual')
            patch_all()
            raise error
    """
    with guest(text) as one:
        equal(one.imported["ok"], True, one.report()[2]["exception"])
        full = one.call("m:f", [1])
        equal(full["value"]["repr"], "[1, {1: (1,)}]")
        equal(one.call("m:g")["exception"]["message"], "as usual")


@case
def hostile_streams_are_survived() -> None:
    text = """
        import sys
        class Stream:
            def write(self, text):
                pass
            def flush(self):
                while True:
                    pass
            def __eq__(self, other):
                while True:
                    pass
        def f():
            print('before')
            sys.stdout = sys.stderr = Stream()
            return 1
        def closed():
            sys.stdout.close()
            return 2
        def gone():
            del sys.stdout, sys.stderr
            return 3
    """
    with guest(text) as one:
        began = time.monotonic()
        equal(one.call("m:f")["value"]["value"], 1)
        assert time.monotonic() - began < 2
        assert "before" in one.text()
        equal(one.call("m:closed")["value"]["value"], 2)
        equal(one.call("m:gone")["value"]["value"], 3)


@case
def the_harness_is_not_to_be_found() -> None:
    text = """
        import sys
        def f():
            import __main__
            found = [name for name, module in list(sys.modules.items())
                     if '/guest/' in str(getattr(module, '__file__', ''))]
            paths = [entry for entry in sys.path if entry.endswith('/guest')]
            return found, paths, sorted(vars(__main__)), sys.argv
    """
    for start in (["-I", "-B"], ["-s", "-B"]):
        with guest(text, start=start) as one:
            found, paths, names, argv = eval(one.call("m:f")["value"]["repr"])
            equal((found, paths, argv), ([], [], [""]))
            assert all(name.startswith("__") for name in names), names


@case
def closing_all_low_descriptors_does_not_hide_the_report() -> None:
    text = """
        import os
        def f():
            os.closerange(0, 100)
            return 1
        def all_of_them():
            os.closerange(0, 5000)
            return 2
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], 1)
        equal(one.call("m:all_of_them")["value"]["value"], 2)


@case
def a_copy_that_the_guest_forked_does_not_report() -> None:
    text = """
        import os, time
        def f():
            pid = os.fork()
            if pid == 0:
                return 'copy'
            os.waitpid(pid, 0)
            return 'original'
        def late():
            pid = os.fork()
            if pid == 0:
                time.sleep(0.1)
                raise ValueError('copy')
            return 'original'
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], "original")
        equal(one.call("m:late")["value"]["value"], "original")
        time.sleep(0.3)
        equal(one.report()[2]["value"]["value"], "original")


@case
def a_call_that_dies_leaves_an_empty_report_and_a_status() -> None:
    text = """
        import os
        def f():
            os.kill(os.getpid(), 9)
        def g():
            os._exit(3)
        def ok():
            return 1
    """
    with guest(text) as one:
        report_state, short, full = one.call_and_kill("m:f", 5)
        equal((report_state, short, full, one.exited["status"]), (1, None, None, 9))
        report_state, short, full = one.call_and_kill("m:g", 5)
        equal((report_state, short, full, one.exited["status"]), (1, None, None, 3 << 8))
        equal(one.call("m:ok")["value"]["value"], 1)


@case
def a_tracing_guest_does_not_trace_the_harness() -> None:
    text = """
        import sys
        def tracer(*a):
            raise RuntimeError('traced')
        def f():
            sys.settrace(tracer)
            return [1]
        def g():
            sys.setprofile(tracer)
        def m():
            tool = sys.monitoring
            tool.use_tool_id(3, 'x')
            tool.register_callback(3, tool.events.PY_START, tracer)
            tool.set_events(3, tool.events.PY_START)
            return [2]
    """
    with guest(text) as one:
        equal(one.call("m:f")["kind"], "returned")
        report_state, _, _ = one.call_and_kill("m:g", 5)
        equal((report_state, one.exited["status"]), (3, 0))
        if VERSION >= (3, 12):
            equal(one.call("m:m")["value"]["value"], ("l", [2]))


@case
def the_guests_garbage_collection_is_as_it_left_it() -> None:
    with guest("import gc\ndef f():\n    return gc.isenabled()") as one:
        equal(one.call("m:f")["value"]["value"], True)
    with guest("import gc\ngc.disable()\ndef f():\n    return gc.isenabled()") as one:
        equal(one.call("m:f")["value"]["value"], False)


@case
def signals_reach_the_guest() -> None:
    text = """
        import os, signal
        got = []
        def f():
            signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
            os.kill(os.getpid(), signal.SIGUSR1)
            return got, signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    """
    equal(result_of(text)["value"]["value"], ("t", [("l", [1]), True]))
