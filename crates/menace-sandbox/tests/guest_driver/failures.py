"""Exceptions, exits and exhaustion are described."""

from __future__ import annotations

import subprocess

from cases import case, equal, guest, result_of
from driving import DESCRIPTION_LIMITS, HARNESS
from under_test import PYTHON, VERSION


@case
def exceptions_have_type_message_and_frames() -> None:
    text = """
        class Mine(LookupError):
            pass
        def g(n):
            raise Mine('no %d' % n)
        def f(n):
            g(n)
    """
    with guest(text) as one:
        full = one.call("m:f", [4])
        equal((full["kind"], full["stage"]), ("raised", "call"))
        error = full["exception"]
        equal((error["type"], error["message"]), ("m.Mine", "no 4"))
        frames = [(f["file"], f["line"], f["function"]) for f in error["frames"]]
        equal(frames, [(one.home + "/m.py", 7, "f"), (one.home + "/m.py", 5, "g")])
        equal(
            (error["cause"], error["context"], error["notes"], error["group"]), (None, None, [], [])
        )
        equal(one.short["exception"], error)


@case
def causes_and_contexts_are_followed() -> None:
    text = """
        def f():
            try:
                try:
                    {}['a']
                except KeyError as e:
                    raise ValueError('v') from e
            except ValueError:
                raise OSError(2, 'gone', 'file')
        def g():
            try:
                1 / 0
            except ZeroDivisionError:
                raise ValueError('clean') from None
        def ring():
            a, b = ValueError('a'), ValueError('b')
            a.__cause__, b.__cause__ = b, a
            raise a
        def chain(n=100):
            e = None
            for i in range(n):
                new = ValueError(i)
                new.__cause__ = e
                e = new
            raise e
    """
    with guest(text) as one:
        error = one.call("m:f")["exception"]
        equal((error["type"], error["errno"]), ("FileNotFoundError", 2))
        equal(error["message"], "[Errno 2] gone: 'file'")
        equal(error["context"]["type"], "ValueError")
        equal(error["context"]["cause"]["type"], "KeyError")
        error = one.call("m:g")["exception"]
        equal((error["cause"], error["context"]), (None, None))
        error = one.call("m:ring")["exception"]
        equal(error["cause"]["cause"], None)
        error = one.call("m:chain")["exception"]
        length = 0
        while error is not None:
            length, error = length + 1, error["cause"]
        equal(length, 8)


@case
def notes_and_groups_are_reported() -> None:
    text = """
        def f():
            e = ValueError('v')
            e.__notes__ = ['first', 5, 'second']
            raise e
        def g():
            raise ExceptionGroup('many', [ValueError(1), ExceptionGroup('in', [KeyError('k')])])
        def big():
            raise ExceptionGroup('many', [ValueError(i) for i in range(100)])
    """
    with guest(text) as one:
        equal(one.call("m:f")["exception"]["notes"], ["first", "second"])
        if VERSION >= (3, 11):
            error = one.call("m:g")["exception"]
            equal([inner["type"] for inner in error["group"]], ["ValueError", "ExceptionGroup"])
            equal(error["group"][1]["group"][0]["type"], "KeyError")
            equal(len(one.call("m:big")["exception"]["group"]), 8)


@case
def exits_are_distinguished_from_exceptions() -> None:
    with guest(
        "import sys\ndef f(code):\n    sys.exit(code)\ndef k():\n    raise KeyboardInterrupt"
    ) as one:
        for code, expected in ((3, 3), (None, None), ("text", "text"), (True, 1), (2.5, "float")):
            full = one.call("m:f", [code])
            equal((full["kind"], full["exception"]["code"]), ("exited", expected))
            equal(full["exception"]["type"], "SystemExit")
        full = one.call("m:k")
        equal((full["kind"], full["exception"]["type"]), ("raised", "KeyboardInterrupt"))


@case
def a_recursion_error_is_reported_with_first_and_last_frames() -> None:
    with guest("def f(n=0):\n    return f(n + 1)\ndef start():\n    f()") as one:
        full = one.call("m:start", description_limits={"frames": 10})
        error = full["exception"]
        equal((full["kind"], error["type"]), ("raised", "RecursionError"))
        equal(len(error["frames"]), 10)
        equal(error["frames"][0]["function"], "start")
        assert any("frames were left out" in note for note in full["notes"]), full["notes"]


@case
def a_tiny_recursion_limit_does_not_break_the_report() -> None:
    text = """
        import sys
        def depth():
            n, frame = 0, sys._getframe()
            while frame:
                n, frame = n + 1, frame.f_back
            return n
        def f():
            sys.setrecursionlimit(depth() + 6)
            return [1, [2, [3]]]
    """
    full = result_of(text)
    equal(full["value"]["repr"], "[1, [2, [3]]]")
    assert full["state_changes"]["recursion_limit"] is not None


@case
def a_recursion_limit_set_by_the_import_is_kept_for_the_calls() -> None:
    with guest(
        "import sys\nsys.setrecursionlimit(333)\ndef f():\n    return sys.getrecursionlimit()"
    ) as one:
        full = one.call("m:f")
        equal(full["value"]["value"], 333)
        equal(full["state_changes"]["recursion_limit"], None)


@case
def running_out_of_memory_is_reported() -> None:
    text = """
        def f():
            held = []
            while True:
                held.append('x' * 1000000 + str(len(held)))
        def small():
            held = []
            while True:
                held.append(bytearray(1000))
    """
    with guest(text) as one:
        for name in ("f", "small"):
            full = one.call("m:" + name, rlimits=[[9, 300 << 20, 300 << 20]])
            equal((full["kind"], full["exception"]["type"]), ("raised", "MemoryError"))
        full = one.call("m:f", rlimits=[[9, 300 << 20, 300 << 20]])
        equal(full["exception"]["frames"][-1]["function"], "f")


@case
def enormous_messages_are_cut() -> None:
    full = result_of("def f():\n    raise ValueError('x' * 50_000_000)")
    equal(len(full["exception"]["message"]), DESCRIPTION_LIMITS["message"])


@case
def a_report_never_runs_past_its_place() -> None:
    text = """
        def f(n):
            e = None
            for i in range(n):
                try:
                    raise ValueError(str(i) * 100000) from e
                except ValueError as new:
                    e = new
            raise e
        def v():
            return ['\\U0001F600' * 60000] * 3 + ['\\x00' * 1000] * 100
        def names():
            raise type('N' * 100000, (Exception,), {'__module__': 'm' * 100000})
    """
    description_limits = {"repr": 1 << 30, "message": 1 << 30, "items": 1 << 30, "depth": 1 << 30}
    with guest(text) as one:
        full = one.call("m:f", [40], description_limits=description_limits)
        equal(full["exception"]["type"], "ValueError")
        equal(one.short["kind"], "raised")
        full = one.call("m:v", description_limits=description_limits)
        equal(full["kind"], "returned")
        assert one.call("m:names", description_limits=description_limits)["exception"][
            "type"
        ].startswith("mmm")


@case
def an_exception_tells_its_bases_and_whether_its_class_is_the_repositorys() -> None:
    text = """
        class Mine(LookupError):
            pass
        class Odd(type):
            def __getattribute__(cls, name):
                raise RuntimeError(name)
        class Hidden(Mine, metaclass=Odd):
            pass
        def f():
            raise Mine
        def hidden():
            raise Hidden
        def theirs():
            import json
            raise json.JSONDecodeError('m', '', 0)
    """
    with guest(text) as one:
        error = one.call("m:f")["exception"]
        equal(error["bases"], ["LookupError", "Exception", "BaseException"])
        equal(error["in_repository"], True)
        error = one.call("m:hidden")["exception"]
        equal((error["bases"][0], error["in_repository"]), ("m.Mine", True))
        error = one.call("m:theirs")["exception"]
        equal((error["bases"][0], error["in_repository"]), ("ValueError", False))


@case
def an_exception_is_explicit_when_a_raise_statement_of_the_innermost_frame_raised_it() -> None:
    text = """
        import contextlib
        def plain(n):
            if n < 0:
                raise ValueError(n)
        def chained():
            try:
                {}['a']
            except KeyError as e:
                raise ValueError('v') from e
        def found():
            return [][1]
        def again():
            try:
                return [][1]
            except IndexError:
                raise
        def once_more():
            try:
                return [][1]
            except IndexError as e:
                raise e
        def asserted(n):
            assert n, 'no'
        def library():
            import json
            json.loads('')
        def missing():
            import there_is_no_such_module
        @contextlib.contextmanager
        def manager():
            yield 1
        def inside():
            with manager():
                raise ValueError('in there')
        async def later():
            raise ValueError('later')
        def items():
            yield 1
            raise ValueError('at the end')
        def wide(n):
            if n:
                a, b, c = n, n, n
                LINES
                raise ValueError('far away')
    """
    lines = (f"x{i} = a + {i} * b" for i in range(300))
    text = text.replace("LINES", "\n                ".join(lines))
    with guest(text) as one:

        def explicit(name: str, *args: object) -> bool:
            return one.call("m:" + name, args)["exception"]["explicit"]

        for name, args in (("plain", [-1]), ("chained", []), ("inside", []), ("later", [])):
            equal(explicit(name, *args), True, name)
        equal((explicit("items"), explicit("wide", 1)), (True, True))
        for name, args in (("found", []), ("again", []), ("once_more", []), ("asserted", [0])):
            equal(explicit(name, *args), False, name)
        equal((explicit("missing"), explicit("plain"), explicit("plain", "x")), (False,) * 3)
        equal(explicit("library"), True)
        equal(one.call("m:library")["exception"]["frames"][-1]["function"], "raw_decode")


@case
def the_number_of_the_raise_instruction_is_this_interpreters() -> None:
    script = (
        f"import sys; sys.path.insert(0, {HARNESS!r});"
        "from describe import exceptions as failures; import opcode;"
        "print(failures.RAISE, opcode.opmap['RAISE_VARARGS'])"
    )
    ours, theirs = subprocess.check_output([PYTHON, "-I", "-B", "-c", script]).split()
    equal(ours, theirs)
