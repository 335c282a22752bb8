"""Objects whose methods hang, lie, raise or crash are described all the same."""

import time

from cases import case, equal, guest, new, result_of

HOSTILE = """
    import time
    class Bad(BaseException):
        pass
    def loop(*a, **k):
        while True:
            pass
    def stubborn(*a, **k):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
    def sleep(*a, **k):
        time.sleep(100)
    def raises(error):
        def method(*a, **k):
            raise error
        return method
    def lies(*a, **k):
        return 42
    def recurses(self, *a, **k):
        return repr(self)
    METHODS = ('__repr__', '__str__', '__eq__', '__hash__', '__len__', '__reduce__', '__bool__',
               '__iter__', '__format__', '__getattr__', '__getattribute__', '__del__', '__dir__',
               '__sizeof__', '__reduce_ex__', '__contains__', '__index__', '__class_getitem__')
    def make(how):
        method = {
            'loop': loop, 'sleep': sleep, 'lies': lies, 'recurses': recurses,
            'exit': raises(SystemExit(9)), 'interrupt': raises(KeyboardInterrupt()),
            'error': raises(ValueError('no')), 'base': raises(Bad()), 'stubborn': stubborn,
        }[how]
        names = dict.fromkeys(METHODS, method)
        names['__class__'] = property(method)
        names['__dict__'] = property(method)
        return names
    class Meta(type):
        pass
    def f(how):
        return type('Hostile', (), make(how))()
    def inside(how):
        one = type('Hostile', (), make(how))()
        return [1, (one, {'k': one}), 'after']
    def error(how):
        raise type('HostileError', (Exception,), make(how))('arg')
    def yields(how):
        yield type('Hostile', (), make(how))()
    def meta(how):
        names = make(how)
        names['__name__'] = names['__module__'] = names['__mro__'] = property(loop)
        for bad in ('__class__', '__dict__', '__getattribute__', '__del__', '__class_getitem__'):
            names.pop(bad, None)
        names['__getattribute__'] = loop
        M = type('M', (type,), names)
        return M('Hostile', (), make(how))()
    class Nameless(Exception):
        def __str__(self):
            return 5
    def broken_str():
        raise Nameless('x')
    class S(str):
        def __repr__(self):
            return S('sub')
        __str__ = __repr__
    def string():
        return S('content')
    def string_error():
        raise ValueError(S('content'))
    def key_error(how):
        raise KeyError(type('Hostile', (), make(how))())
"""

WAYS = ("loop", "sleep", "lies", "recurses", "exit", "interrupt", "error", "base")


@case
def hostile_results_are_described() -> None:
    with guest(HOSTILE) as one:
        for name in ("f", "inside", "yields", "meta"):
            for how in WAYS:
                began = time.monotonic()
                full = one.call("m:" + name, [how])
                equal(full["kind"], "returned", (name, how))
                assert time.monotonic() - began < 2, (name, how)
                if name in ("f", "meta"):
                    equal(full["value"]["type"], "m.Hostile", (name, how))
                    equal(full["value"]["hash"], None, (name, how))
                    assert any("Hostile" in note for note in full["notes"]), full["notes"]
                if name == "inside":
                    assert full["value"]["repr"].startswith("[1, (<m.Hostile>"), full["value"]
                    assert full["value"]["repr"].endswith("'after']"), full["value"]


@case
def hostile_exceptions_are_described() -> None:
    with guest(HOSTILE) as one:
        for name in ("error", "key_error"):
            for how in WAYS:
                full = one.call("m:" + name, [how])
                equal(full["kind"], "raised", (name, how))
                expected = "m.HostileError" if name == "error" else "KeyError"
                equal(full["exception"]["type"], expected)
                equal(full["exception"]["frames"][-1]["function"], name)
        full = one.call("m:broken_str")
        equal((full["exception"]["type"], full["exception"]["message"]), ("m.Nameless", ""))
        equal(one.call("m:string")["value"]["repr"], "sub")
        equal(one.call("m:string_error")["kind"], "raised")


@case
def a_hanging_repr_does_not_hide_the_verdict() -> None:
    with guest(HOSTILE) as one:
        report_state, short, full = one.call_and_kill("m:f", 1.0, ["stubborn"])
        equal((report_state, full), (2, None))
        equal((short["kind"], short["value"]["type"]), ("returned", "m.Hostile"))
        report_state, short, full = one.call_and_kill("m:error", 1.0, ["stubborn"])
        equal(
            (report_state, short["kind"], short["exception"]["type"]),
            (2, "raised", "m.HostileError"),
        )


@case
def a_crash_in_repr_does_not_hide_the_verdict() -> None:
    text = """
        import os
        class C:
            def __repr__(self):
                os.kill(os.getpid(), 11)
        def f():
            return C()
    """
    with guest(text) as one:
        report_state, short, _ = one.call_and_kill("m:f", 5.0)
        equal((report_state, short["kind"], one.exited["status"] & 127), (2, "returned", 11))


@case
def the_repr_of_a_foreign_object_is_asked_once() -> None:
    text = """
        class C:
            def __repr__(self):
                print('asked')
                return 'C()'
        def f():
            c = C()
            return [c, c, {'k': c}]
    """
    with guest(text) as one:
        full = one.call("m:f")
        equal(full["value"]["repr"], "[C(), C(), {'k': C()}]")
        equal(one.text().count("asked"), 1)


@case
def the_guests_alarm_handler_survives_the_description() -> None:
    text = """
        import signal
        def f():
            signal.signal(signal.SIGALRM, lambda *a: print('mine'))
            class C:
                def __repr__(self):
                    return 'fine'
            return C()
    """
    full = result_of(text)
    equal(full["value"]["repr"], "fine")
    equal(full["state_changes"]["signals"], [14])


@case
def an_alarm_of_the_guest_does_not_hit_the_harness() -> None:
    text = """
        import signal, time
        class Late(BaseException):
            pass
        def ring(*a):
            raise Late
        def f():
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            return list(range(50000))
        def at_import():
            return 1
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 30, 30)
    """
    with guest(text) as one:
        for _ in range(10):
            report_state, _, full = one.call_and_kill("m:f", 5.0)
            equal(report_state, 3)
            assert full["kind"] in ("returned", "raised")
        equal(one.call("m:at_import")["kind"], "returned")


@case
def finalizers_do_not_disturb_the_report() -> None:
    text = """
        import os
        class C:
            def __del__(self):
                os._exit(5)
        def f():
            return C()
        def g():
            raise ValueError(C())
        def h(c):
            return 1
        def cycle():
            a = C()
            a.a = a
            return 2
    """
    with guest(text) as one:
        equal(one.call("m:f")["kind"], "returned")
        equal(one.call("m:g")["kind"], "raised")
        equal(one.call("m:h", [new("m:C")])["value"]["value"], 1)
        equal(one.call("m:cycle")["value"]["value"], 2)
