"""Generators, coroutines and context managers are consumed."""

from __future__ import annotations

from cases import case, equal, guest, new, result_of
from driving import Report


@case
def async_functions_run_to_their_end() -> None:
    text = "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n + 1"
    full = result_of(text, [1])
    equal((full["kind"], full["stage"], full["value"]["value"]), ("returned", "consume", 2))
    equal(full["leaked_descriptors"], [])


@case
def async_functions_of_modules_without_asyncio_run_too() -> None:
    with guest("async def f(n):\n    return n + 1\ndef g():\n    return f(5)") as one:
        for _ in range(2):
            full = one.call("m:f", [1])
            equal(full["value"]["value"], 2)
            equal(full["state_changes"]["modules"], 0)
    with guest("async def f(n):\n    return n + 1\ndef g():\n    return f(5)") as one:
        full = one.call("m:g")
        equal(full["value"]["value"], 6)
        equal(full["state_changes"]["modules"], 0)
        equal(full["leaked_descriptors"], [])


@case
def an_async_function_that_raises_leaves_no_descriptors() -> None:
    full = result_of("async def f():\n    raise KeyError('k')")
    equal((full["kind"], full["stage"]), ("raised", "consume"))
    equal(full["exception"]["message"], "'k'")
    equal([f["function"] for f in full["exception"]["frames"]], ["f"])
    equal(full["leaked_descriptors"], [])


@case
def pending_tasks_are_noted() -> None:
    text = """
        import asyncio
        async def f():
            asyncio.get_event_loop().create_task(asyncio.sleep(60))
            return 1
    """
    full = result_of(text)
    equal(full["value"]["value"], 1)
    assert any("pending" in note for note in full["notes"]), full["notes"]


@case
def generators_are_consumed_up_to_the_cap() -> None:
    text = """
        def f(n):
            for i in range(n):
                yield i
        def forever():
            while True:
                yield 1
        def stubborn():
            while True:
                try:
                    yield 1
                except GeneratorExit:
                    pass
        def breaks():
            yield 1
            raise ValueError('later')
    """
    with guest(text) as one:
        full = one.call("m:f", [3])
        equal((full["items"], full["more"], full["stage"]), (3, False, "consume"))
        equal((full["value"]["type"], full["value"]["repr"]), ("generator", "[0, 1, 2]"))
        equal(full["value"]["value"], ("l", [0, 1, 2]))
        full = one.call("m:forever", description_limits={"items": 10})
        equal((full["items"], full["more"]), (10, True))
        full = one.call("m:f", [10], description_limits={"items": 10})
        equal((full["items"], full["more"]), (10, False))
        full = one.call("m:stubborn", description_limits={"items": 2})
        equal(full["kind"], "returned")
        assert any("closing" in note for note in full["notes"]), full["notes"]
        full = one.call("m:breaks")
        equal((full["kind"], full["stage"], full["items"]), ("raised", "consume", 1))


@case
def async_generators_are_consumed_up_to_the_cap() -> None:
    text = """
        async def f(n):
            for i in range(n):
                yield i
    """
    with guest(text) as one:
        full = one.call("m:f", [3])
        equal((full["items"], full["more"]), (3, False))
        equal(full["value"]["value"], ("l", [0, 1, 2]))
        equal(full["value"]["type"], "async_generator")
        full = one.call("m:f", [1000], description_limits={"items": 5})
        equal((full["items"], full["more"]), (5, True))


@case
def managers_from_contextlib_are_entered_and_left_but_files_and_locks_are_not() -> None:
    text = """
        import contextlib, threading
        @contextlib.contextmanager
        def f():
            print('in')
            yield 'given'
            print('out')
        @contextlib.asynccontextmanager
        async def g():
            print('ain')
            yield 'agiven'
            print('aout')
        lock = threading.Lock()
        def l():
            return lock
        def o():
            return open(__file__)
        def it():
            return iter([1, 2])
        def state():
            return lock.locked()
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], "given")
        equal(one.call("m:g")["value"]["value"], "agiven")
        text = one.text()
        assert all(word in text for word in ("in", "out", "ain", "aout")), text
        assert "unlocked" in one.call("m:l")["value"]["repr"]
        full = one.call("m:o")
        equal(full["kind"], "returned")
        equal([what for _, what in full["leaked_descriptors"]], [one.home + "/m.py"])
        equal(one.call("m:it")["items"], None)


@case
def a_context_manager_made_by_a_class_is_a_result_and_is_exited_once_entered() -> None:
    text = """
        class Manager:
            def __enter__(self):
                print('in', end=' ')
                return 'entered'
            def __exit__(self, *raised):
                print('out', *raised, end=' ')
        class Bad(Manager):
            def __exit__(self, *raised):
                raise KeyError('left')
        class Later:
            async def __aenter__(self):
                print('ain', end=' ')
                return 'aentered'
            async def __aexit__(self, *raised):
                print('aout', *raised, end=' ')
        class Half:
            def __enter__(self):
                return 'half'
        class Closed(Bad):
            def __enter__(self):
                raise ValueError('closed')
        def f():
            return Manager()
    """
    with guest(text) as one:

        def called(name: str, *args: object) -> Report:
            return one.call(
                "m:" + name, args, kind="method", receiver=new("m:" + name.split(".")[0])
            )

        full = one.call("m:f")
        equal((full["kind"], full["value"]["type"]), ("returned", "m.Manager"))
        equal(called("Manager.__enter__")["value"]["value"], "entered")
        equal(called("Later.__aenter__")["value"]["value"], "aentered")
        assert "in out None None None ain aout None None None" in one.text(), one.text()
        full = called("Bad.__enter__")
        equal((full["kind"], full["stage"]), ("raised", "consume"))
        equal(full["exception"]["message"], "'left'")
        equal(called("Closed.__enter__")["exception"]["message"], "closed")
        full = called("Half.__enter__")
        equal(
            (full["value"]["value"], full["notes"]),
            ("half", ["it cannot be left: there is no __exit__"]),
        )
        full = called("Bad.__exit__", None, None, None)
        equal((full["kind"], full["exception"]["message"]), ("raised", "'left'"))


@case
def a_bare_future_is_not_waited_for() -> None:
    text = "import asyncio\ndef f():\n    return asyncio.new_event_loop().create_future()"
    equal(result_of(text)["kind"], "returned")


@case
def objects_that_can_be_awaited_are_awaited() -> None:
    text = """
        class W:
            def __await__(self):
                yield from ()
                return 'awaited'
        def f():
            return W()
    """
    equal(result_of(text)["value"]["value"], "awaited")
