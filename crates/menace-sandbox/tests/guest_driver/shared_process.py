"""Several sections in one process, one after the other."""

from __future__ import annotations

import marshal
import signal
from typing import Any, Sequence

from cases import case, equal, guest, new
from driving import SIZE, Guest, Report
from under_test import PYTHON


def step(
    name: str,
    args: Sequence[object] = (),
    kind: str = "function",
    receiver: object = None,
    kwargs: Sequence[object] = (),
    path: str | None = None,
) -> dict[str, object]:
    module, _, qualname = name.partition(":")
    return {
        "target": {"module": module, "path": path, "qualname": qualname, "kind": kind},
        "receiver": receiver,
        "args": list(args),
        "kwargs": list(kwargs),
        "needs_no_building": False,
    }


def entries(one: Guest) -> tuple[int, list[Report]]:
    """How many steps were begun, and the last report of each that has one."""
    begun = int.from_bytes(one.box[32:36], "little")
    left = int.from_bytes(one.box[36:40], "little")
    at = SIZE // 2
    assert left <= SIZE - at, left
    found: dict[int, Report] = {}
    while left:
        length = int.from_bytes(one.box[at : at + 4], "little")
        entry = marshal.loads(one.box[at + 4 : at + 4 + length])
        found[entry["step"]] = entry
        at += 4 + length
        left -= 4 + length
    equal(sorted(found), list(range(len(found))))
    return begun, [found[number] for number in sorted(found)]


def run_steps(one: Guest, *steps: object, **more: Any) -> tuple[Report, list[Report]]:
    """The report of the call, and those of its steps."""
    full = one.call("m:f", steps=list(steps), **more)
    begun, reports = entries(one)
    equal(begun, len(reports))
    return full, reports


def kinds(reports: Sequence[Report]) -> list[str]:
    return [entry["kind"] for entry in reports]


STATE = """
    import sys
    seen = []
    def put(x):
        seen.append(x)
        return list(seen)
    def fail():
        seen.append('failed')
        raise ValueError('on purpose')
    def leave():
        sys.exit(3)
    def count(seen=[]):
        seen.append(1)
        return len(seen)
    def f():
        raise RuntimeError('not to be called')
"""


@case
def a_step_sees_what_the_one_before_it_left() -> None:
    with guest(STATE) as one:
        full, reports = run_steps(one, step("m:put", [1]), step("m:put", [2]))
        equal((full["kind"], full["stage"], full["value"]), ("returned", "call", None))
        equal([entry["value"]["repr"] for entry in reports], ["[1]", "[1, 2]"])
        equal(len({entry["value"]["hash"] for entry in reports}), 2)
        # The next call begins anew.
        _, reports = run_steps(one, step("m:put", [3]))
        equal(reports[0]["value"]["repr"], "[3]")


@case
def a_step_that_raises_or_exits_does_not_end_the_others() -> None:
    with guest(STATE) as one:
        steps = [step("m:fail"), step("m:leave"), step("m:nothing"), step("m:put", [1])]
        full, reports = run_steps(one, *steps)
        equal(kinds(reports), ["raised", "exited", "unreachable", "returned"])
        equal((full["kind"], full["exception"]), ("returned", None))
        equal(reports[0]["exception"]["message"], "on purpose")
        equal(reports[0]["exception"]["frames"][-1]["function"], "fail")
        equal(reports[1]["exception"]["code"], 3)
        equal(reports[3]["value"]["repr"], "['failed', 1]")
        assert full["wall_ns"] >= sum(entry["wall_ns"] for entry in reports) > 0


@case
def modules_are_imported_when_their_step_comes() -> None:
    files = {
        "bad.py": "import m\nm.seen.append('bad')\n1 / 0\n",
        "other.py": "import m\ndef f():\n    return m.put('other')\n",
        "placed/x.py": "def f():\n    return __file__\n",
    }
    with guest(STATE, files=files) as one:
        placed = one.home + "/placed/x.py"
        steps = [step("bad:f"), step("other:f"), step("bad:", kind="module")]
        steps += [step("gone:f"), step("x:f", path=placed), step("m:put", [1])]
        full, reports = run_steps(one, *steps)
        equal(kinds(reports), ["raised", "returned", "raised", "raised", "returned", "returned"])
        equal([entry["stage"] for entry in reports[:4]], ["import", "call", "import", "import"])
        equal(reports[3]["exception"]["type"], "ModuleNotFoundError")
        equal(reports[4]["value"]["value"], placed)
        equal(reports[5]["value"]["repr"], "['bad', 'other', 'bad', 1]")
        assert full["state_changes"]["modules"] >= 2, full["state_changes"]


@case
def methods_coroutines_and_generators_are_steps_too() -> None:
    text = """
        import asyncio
        class A:
            made = 0
            def __init__(self):
                A.made += 1
            def m(self):
                return A.made
            @property
            def p(self):
                return A.made
        async def later():
            await asyncio.sleep(0)
            return 4
        def items():
            yield from range(1000)
    """
    with guest(text) as one:
        steps = [step("m:A.m", kind="method", receiver=new("m:A"))]
        steps += [step("m:later"), step("m:later"), step("m:items")]
        steps += [step("m:A.p", kind="property", receiver=new("m:A"))]
        _, reports = run_steps(one, *steps)
        equal([reports[number]["value"]["value"] for number in (0, 1, 2, 4)], [1, 4, 4, 2])
        equal(
            (reports[3]["items"], reports[3]["more"], reports[3]["stage"]), (100, True, "consume")
        )


@case
def what_ends_the_process_leaves_the_reports_of_the_steps_before() -> None:
    text = """
        import os, signal
        def fine():
            return 'fine'
        def kill():
            os.kill(os.getpid(), signal.SIGKILL)
        def hang():
            while True:
                pass
        def silent():
            os._exit(0)
    """
    with guest(text) as one:
        for last in ("kill", "hang", "silent"):
            steps = [step("m:fine"), step("m:nothing"), step("m:" + last), step("m:fine")]
            report_state, _, full = one.call_and_kill("m:fine", 0.5, steps=steps)
            equal((report_state, full), (1, None), last)
            begun, reports = entries(one)
            equal((begun, kinds(reports)), (3, ["returned", "unreachable"]), last)


@case
def what_a_step_returned_is_let_go_of_before_the_next_one() -> None:
    text = """
        import os, signal
        alive = []
        class Thing:
            def __init__(self):
                alive.append(1)
            def __del__(self):
                alive.pop()
        class Bad:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGSEGV)
        def make():
            return Thing()
        def fail():
            thing = Thing()
            raise ValueError(thing)
        def count():
            return len(alive)
        def bad():
            return Bad()
    """
    with guest(text) as one:
        steps = [step("m:make"), step("m:count"), step("m:fail"), step("m:count")]
        _, reports = run_steps(one, *steps)
        equal(reports[1]["value"]["value"], 0)
        equal(reports[3]["value"]["value"], 0)
        one.call_and_kill("m:make", 5, steps=[step("m:make"), step("m:bad"), step("m:make")])
        begun, reports = entries(one)
        equal((begun, kinds(reports), one.box[40]), (2, ["returned", "returned"], 1))
        equal(one.exited["status"], int(signal.SIGSEGV))


@case
def a_repr_that_hangs_hides_no_step_and_all_steps_share_its_time_limit() -> None:
    text = """
        class Slow:
            def __repr__(self):
                while True:
                    pass
        def f():
            return Slow()
        def g():
            return 1
    """
    with guest(text) as one:
        full, reports = run_steps(one, *[step("m:f")] * 20, step("m:g"))
        equal(kinds(reports), ["returned"] * 21)
        equal((reports[0]["value"]["type"], reports[20]["value"]["value"]), ("m.Slow", 1))
        # Twenty quarters of a second would be five seconds.
        assert one.exited["utime"] < 2, one.exited
        assert any("step 1:" in note for note in full["notes"]), full["notes"]


@case
def an_alarm_that_a_step_has_set_rings_in_a_later_one() -> None:
    text = """
        import signal, time
        rung = []
        class Odd:
            def __repr__(self):
                return 'odd'
        def arm():
            signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return Odd()
        def wait():
            end = time.monotonic() + 10
            while not rung and time.monotonic() < end:
                time.sleep(0.01)
            return len(rung)
    """
    with guest(text) as one:
        _, reports = run_steps(one, step("m:arm"), step("m:wait"))
        equal((reports[0]["value"]["repr"], reports[1]["value"]["value"]), ("odd", 1))


@case
def reports_of_steps_are_bounded() -> None:
    text = """
        def deep(n):
            if n == 0:
                raise ValueError('x' * 100000)
            deep(n - 1)
        def large():
            return bytes(100 << 20)
        def one():
            return 1
        def \u00fc\u00fc\u00fc():
            raise type('\U0001f600' * 400, (ValueError,), {})('\U0001f600' * 4000)
    """
    with guest(text) as one:
        full, reports = run_steps(one, *[step("m:deep", [40])] * 40, step("m:large"), step("m:one"))
        equal(kinds(reports), ["raised"] * 40 + ["returned"] * 2)
        exception = reports[0]["exception"]
        assert len(exception["message"]) <= 1000 and len(exception["frames"]) <= 20
        equal(reports[40]["value"]["length"], 100 << 20)
        assert len(reports[40]["value"]["repr"]) <= 500 and reports[40]["value"]["truncated"]
        full, reports = run_steps(one, *[step("m:one")] * 1000)
        equal((len(reports), set(kinds(reports)), full["notes"]), (1000, {"returned"}, []))
        # Each has its share, however much the ones before it have to say.
        steps = [step("m:\u00fc\u00fc\u00fc"), step("m:deep", [40])] * 300
        full, reports = run_steps(one, *steps)
        equal((len(reports), set(kinds(reports))), (600, {"raised"}))
        equal(reports[1]["exception"]["frames"][-1]["function"], "deep")
        full, reports = run_steps(one, *steps * 4)
        assert 600 <= len(reports) < 2400, len(reports)
        assert "steps were not made" in full["notes"][0], full["notes"]


@case
def coverage_files_and_defaults_are_those_of_all_steps() -> None:
    with guest(STATE, files={"o.py": "def f():\n    return 1\n"}) as one:
        steps = [step("m:put", [1]), step("m:count"), step("o:f"), step("m:fail")]
        full, _ = run_steps(one, *steps, coverage=True, files=[["data.txt", b"x"]])
        reached = {file: lines for file, lines, _ in full["coverage"]}
        equal(reached["m.py"], [5, 6, 8, 9, 13, 14])
        equal(reached["o.py"][-1:], [2])
        equal(full["fixture_files"], [["data.txt", "same"]])
        equal(full["state_changes"]["defaults"], ["count.seen"])


@case
def a_fork_that_returns_reports_nothing() -> None:
    text = """
        import os
        def f():
            pid = os.fork()
            if pid:
                os.waitpid(pid, 0)
            return pid > 0
    """
    with guest(text) as one:
        _, reports = run_steps(one, step("m:f"), step("m:f"))
        equal([entry["value"]["value"] for entry in reports], [True, True])


@case
def a_call_without_a_warm_module_has_steps_too() -> None:
    with Guest(PYTHON, {"a.py": "x = [1]\ndef f():\n    return len(x)\n"}) as one:
        _, reports = run_steps(one, step("a:", kind="module"), step("a:f"))
        equal((reports[0]["kind"], reports[1]["value"]["value"]), ("returned", 1))
