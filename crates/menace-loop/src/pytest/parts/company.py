import random
import threading
import time

import pytest

PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, type(None))


def told(call):
    """What came of one run, to be compared."""
    try:
        return "returned " + repr(use(call()))
    except Exception as error:
        return "raised " + name_of(type(error))


def kept(receiver):
    """What an instance holds in plain types."""
    held = sorted(getattr(receiver, "__dict__", {}).items())
    return [name + " " + repr(value) for name, value in held if isinstance(value, PLAIN)]


def interruptions(seed):
    """A trace that lets others come between any two instructions of the repository."""
    dice = random.Random(seed)
    left = [300]

    def trace(frame, event, _):
        if event == "call" and not own(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and left[0] > 0 and dice.random() < 0.3:
            left[0] -= 1
            time.sleep(dice.random() * 1e-4)
        return trace

    return trace


def run(make, count, together, seed=0, seconds=5):
    """Results of so many runs with one instance; none when some never end."""
    receiver, call = make()
    results = []
    gate = threading.Barrier(count if together else 1)

    def body(number):
        gate.wait()
        if together:
            sys.settrace(interruptions(seed * count + number))
        for _ in range(1 if together else count):
            results.append(told(call))

    # Those that never end must not keep the tests from ending.
    threads = [
        threading.Thread(target=body, args=(number,), daemon=True)
        for number in range(count if together else 1)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        return None
    return sorted(results), kept(receiver)


def run_tasks(make, count, together):
    """The same for coroutines, in one event loop."""

    async def one(call):
        try:
            return "returned " + repr(await call())
        except Exception as error:
            return "raised " + name_of(type(error))

    async def everything():
        receiver, call = make()
        if together:
            results = await asyncio.gather(*(one(call) for _ in range(count)))
        else:
            results = [await one(call) for _ in range(count)]
        return sorted(results), kept(receiver)

    return asyncio.run(asyncio.wait_for(everything(), 5))


def same_in_company(make, count, tasks, rounds=40):
    """Fails when runs at once give what runs one after the other do not."""
    if tasks:
        assert run_tasks(make, count, True) == run_tasks(make, count, False)
        return
    expected = run(make, count, False)
    for seed in range(rounds):
        assert run(make, count, True, seed) == expected


def ends_in_company(make, count, tasks, rounds=40):
    """Fails when runs at once never end."""
    if tasks:
        run_tasks(make, count, True)
        return
    for seed in range(rounds):
        if run(make, count, True, seed) is None:
            pytest.fail("some of the runs at once never ended")
