"""Lines and branches of the repository that a call reached."""

from __future__ import annotations

import subprocess
import textwrap
from typing import Any, Sequence

from cases import case, equal, guest, new
from driving import HARNESS, Report
from under_test import PYTHON, VERSION

TEXT = """\
import other

def choose(x):
    if x > 1:
        a = 1
    else:
        a = 2
    return a

def loop(xs):
    total = 0
    for x in xs:
        if x > 2:
            total += x
    while total:
        total -= 1
    return total

def generator():
    yield 1
    yield 2

async def later():
    return 3

def through_library():
    import json
    return json.loads('{"a": [1, 2]}', parse_int=parsed)

def parsed(text):
    return int(text)

def elsewhere():
    return other.f()

def fails(x):
    try:
        return 1 // x
    except ZeroDivisionError:
        raise ValueError(x)

class A:
    def __init__(self):
        self.n = 1
    def method(self):
        return self.n
"""
OTHER = "def f():\n    return 1\ndef g():\n    return 2\n"


def reached(full: Report, file: str = "m.py") -> tuple[list[int], set[tuple[int, int]]]:
    """The lines and branches of a file."""
    for name, lines, flat in full["coverage"]:
        if name == file:
            return lines, set(zip(flat[::2], flat[1::2]))
    return [], set()


@case
def lines_and_branches_are_those_that_were_reached() -> None:
    with guest(TEXT, files={"other.py": OTHER}) as one:
        for argument, lines, there, not_there in (
            (2, [4, 5, 8], (4, 5), (4, 7)),
            (0, [4, 7, 8], (4, 7), (4, 5)),
        ):
            full = one.call("m:choose", [argument], coverage=True)
            found, branches = reached(full)
            equal(found, lines)
            assert there in branches and not_there not in branches, branches
            equal([file for file, _, _ in full["coverage"]], ["m.py"])
        found, branches = reached(one.call("m:loop", [("l", [1, 3])], coverage=True))
        equal(found, list(range(11, 18)))
        wanted = {(12, 13), (13, 14), (13, 12), (12, 15), (15, 16), (15, 17)}
        assert branches >= wanted, branches
        found, branches = reached(one.call("m:loop", [("l", [])], coverage=True))
        equal(found, [11, 12, 15, 17])
        assert {(12, 15), (15, 17)} <= branches and (12, 13) not in branches, branches
        # The same again is the same, and the next call without it says nothing.
        first = one.call("m:loop", [("l", [1, 3])], coverage=True)["coverage"]
        equal(one.call("m:loop", [("l", [1, 3])], coverage=True)["coverage"], first)
        assert "coverage" not in one.call("m:choose", [1])


@case
def what_is_awaited_iterated_raised_or_called_back_is_reached_too() -> None:
    with guest(TEXT, files={"other.py": OTHER}) as one:

        def lines(
            name: str, args: Sequence[object] = (), file: str = "m.py", **more: Any
        ) -> list[int]:
            return reached(one.call("m:" + name, args, coverage=True, **more), file)[0]

        equal(lines("generator"), [20, 21])
        equal(lines("later"), [24])
        equal(lines("through_library"), [27, 28, 31])
        equal(lines("elsewhere"), [34])
        equal(lines("elsewhere", file="other.py"), [2])
        equal(lines("fails", [0]), [37, 38, 39, 40])
        equal(lines("A.method", kind="method", receiver=new("m:A")), [44, 46])
        report = one.call("m:through_library", coverage=True)
        equal([file for file, _, _ in report["coverage"]], ["m.py"])
        equal((report["state_changes"]["modules"] > 0, report["notes"]), (True, []))


@case
def the_top_level_of_a_module_is_reached_when_importing_it_is_the_call() -> None:
    files = {"late.py": "import other\nif other.f() > 5:\n    x = 1\n", "other.py": OTHER}
    with guest("", files=files) as one:
        full = one.call("late:", kind="module", coverage=True)
        equal(reached(full, "late.py")[0], [1, 2])
        equal(reached(full, "other.py")[0], [1, 2, 3])


@case
def threads_are_watched() -> None:
    text = """
        def work():
            x = 1
            return x
        def f():
            import threading
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    """
    with guest(text) as one:
        equal(reached(one.call("m:f", coverage=True))[0], [3, 4, 6, 7, 8, 9])


@case
def tracers_of_the_guest_work_and_take_nothing_away() -> None:
    text = """
        import sys
        from sys import settrace
        def inner():
            return 1
        def f():
            seen = []
            def tracer(frame, event, arg):
                seen.append((event, frame.f_code.co_name))
                return tracer
            before = sys.gettrace()
            sys.settrace(tracer)
            inner()
            now = sys.gettrace() is tracer
            sys.settrace(None)
            inner()
            return before, now, seen
        def past():
            settrace(lambda *args: None)
            return inner()
        def leaves():
            sys.settrace(lambda *args: None)
            return [inner()]
    """
    with guest(text) as one:
        full = one.call("m:f", coverage=True)
        lines = reached(full)[0]
        assert 5 in lines and 17 in lines, lines
        before, now, seen = full["value"]["value"][1]
        equal((before, now), (None, True))
        events = [("t", [event, "inner"]) for event in ("call", "line", "return")]
        equal(seen[1][:3], events)
        equal(one.call("m:f", coverage=True)["coverage"], full["coverage"])
        full = one.call("m:past", coverage=True)
        assert 19 in reached(full)[0], full["coverage"]
        assert VERSION >= (3, 12) or any("more may have" in note for note in full["notes"])
        full = one.call("m:leaves", coverage=True)
        assert {5, 22, 23} <= set(reached(full)[0]), full["coverage"]


@case
def a_stack_that_is_used_up_loses_no_more_than_what_comes_after() -> None:
    text = """
        def deep(n):
            return deep(n + 1)
        def f():
            try:
                deep(0)
            except RecursionError:
                pass
            return 'over'
    """
    with guest(text) as one:
        full = one.call("m:f", coverage=True)
        equal(full["value"]["value"], "over")
        assert {3, 5, 6} <= set(reached(full)[0]), full["coverage"]


@case
def monitoring_tools_of_the_guest_are_left_alone() -> None:
    if VERSION < (3, 12):
        return
    text = """
        import sys
        def f():
            m = sys.monitoring
            m.use_tool_id(m.COVERAGE_ID, 'mine')
            m.use_tool_id(m.DEBUGGER_ID, 'mine')
            seen = []
            m.register_callback(m.COVERAGE_ID, m.events.LINE, lambda c, n: seen.append(n))
            m.set_events(m.COVERAGE_ID, m.events.LINE)
            x = 1
            m.set_events(m.COVERAGE_ID, 0)
            return seen
    """
    with guest(text) as one:
        full = one.call("m:f", coverage=True)
        equal(full["value"]["value"], ("l", [10, 11]))
        equal(reached(full)[0], list(range(4, 13)))


@case
def no_more_lines_are_reported_than_a_report_holds() -> None:
    lines = "\n".join(f"    x{i} = {i}" for i in range(100))
    functions = "\n".join(f"def f{i}():\n{lines}\n    return [{i}]" for i in range(210))
    text = (
        functions
        + """
def all(count):
    for i in range(count):
        globals()['f%d' % i]()
    return [count]
"""
    )
    with guest(text) as one:
        full = one.call("m:all", [150], coverage=True)
        equal((len(reached(full)[0]), full["notes"]), (15_153, []))
        # It does not fit into the short one.
        assert "coverage" not in one.short, one.short.keys()
        full = one.call("m:all", [210], coverage=True)
        equal(len(reached(full)[0]), 20_000)
        assert "more was reached than the report holds" in full["notes"]


@case
def the_numbers_of_jumps_are_this_interpreters() -> None:
    if VERSION < (3, 12):
        return
    script = (
        f"import sys; sys.path.insert(0, {HARNESS!r});"
        "from coverage import monitoring as m; import opcode as o;"
        "wrong = [n for n, v in {**m.JUMPS, **m.ENDS}.items() if o.opmap[n] != v];"
        "caches = o._inline_cache_entries;"
        "number = o.opmap['JUMP_BACKWARD'];"
        "cache = caches.get('JUMP_BACKWARD', 0) if type(caches) is dict else caches[number];"
        "print(wrong, o.opmap['EXTENDED_ARG'] == m.EXTENDED_ARG, cache == m.CACHE)"
    )
    said = subprocess.check_output([PYTHON, "-I", "-B", "-c", script]).decode().strip()
    equal(said, "[] True True")


@case
def from_the_second_call_on_the_interpreter_has_loaded_what_it_takes() -> None:
    text = """
        import os, sys
        parent = os.getpid()
        paths = []
        def hook(event, args):
            if event == 'open' and str(args[0]).endswith('coverage/recorder.py'):
                if os.getpid() != parent:
                    paths.append(args[0])
                elif refusing:
                    raise RuntimeError('not here')
        sys.addaudithook(hook)
        def f():
            return len(paths)
    """
    for refusing, second in ((False, 0), (True, 1)):
        with guest(f"refusing = {refusing}\n" + textwrap.dedent(text)) as one:
            equal(one.call("m:f", coverage=True)["value"]["value"], 1)
            full = one.call("m:f", coverage=True)
            equal((full["value"]["value"], reached(full)[0]), (second, [14]))
            equal(one.call("m:f")["state_changes"]["modules"], 0)
