"""Randomness follows the seed, and time stands still when asked to."""

import time

from cases import case, equal, guest, loaded_anyway, result_of


@case
def random_numbers_depend_on_the_seed_alone() -> None:
    for text in (
        "import random\ndef f():\n    return random.random()",
        "def f():\n    import random\n    return random.random()",
    ):
        with guest(text) as one:
            first = one.call("m:f", seed=1)["value"]["value"]
            equal(one.call("m:f", seed=1)["value"]["value"], first)
            assert one.call("m:f", seed=2)["value"]["value"] != first
        with guest(text) as one:
            equal(one.call("m:f", seed=1)["value"]["value"], first)
    with guest("import random\nx = random.random()\ndef f():\n    return x") as one:
        first = one.call("m:f")["value"]["value"]
    with guest("import random\nx = random.random()\ndef f():\n    return x") as one:
        equal(one.call("m:f")["value"]["value"], first)


@case
def a_module_of_the_guests_called_random_is_left_alone() -> None:
    if "random" in loaded_anyway():
        return
    files = {"random.py": "calls = []\ndef seed(n):\n    calls.append(n)\n_inst = 5\n"}
    with guest("import random\ndef f():\n    return random.calls", files=files) as one:
        equal(one.call("m:f")["value"]["value"], ("l", []))


TIMES = """
    import datetime, pickle, time
    from datetime import datetime as dt, date
    def f():
        a = (time.time(), time.time_ns(), time.gmtime()[:6], time.strftime('%Y', time.gmtime()))
        b = (dt.utcnow().isoformat(), dt.now(datetime.timezone.utc).isoformat())
        c = (dt.now() == dt.fromtimestamp(time.time()), date.today() == dt.now().date())
        d = (dt.today() == dt.now(), time.localtime() == time.localtime(time.time()))
        e = (time.ctime() == time.ctime(time.time()), time.asctime() == time.ctime())
        g = (time.clock_gettime(time.CLOCK_REALTIME), time.strftime('%s') == str(int(time.time())))
        now = dt.now()
        h = (isinstance(now, dt), isinstance(now, date), type(now) is dt, repr(now)[:18])
        i = pickle.loads(pickle.dumps(now)) == now
        start = time.perf_counter()
        time.sleep(0.002)
        j = (time.perf_counter() > start, dt.now() == now)
        class Sub(dt):
            pass
        k = (type(Sub.now()).__name__, Sub.now() == now)
        return a, b, c, d, e, g, h, i, j, k
"""


@case
def frozen_time_stands_still() -> None:
    with guest(TIMES, freeze_time=1_000_000_000.5) as one:
        full = one.call("m:f")
        equal(full["kind"], "returned", full["exception"])
        found = eval(full["value"]["repr"])
        equal(found[0], (1000000000.5, 1000000000500000000, (2001, 9, 9, 1, 46, 40), "2001"))
        equal(found[1], ("2001-09-09T01:46:40.500000", "2001-09-09T01:46:40.500000+00:00"))
        equal(found[2:5], ((True, True),) * 3)
        equal(found[5], (1000000000.5, True))
        equal(found[6], (True, True, True, "datetime.datetime("))
        equal(found[7:], (True, (True, True), ("Sub", True)))


@case
def time_goes_on_unless_frozen() -> None:
    full = result_of("import time\ndef f():\n    return time.time()")
    assert abs(full["value"]["value"] - time.time()) < 60
