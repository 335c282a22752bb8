"""Answers for code that calls out, without a network."""

from __future__ import annotations

import subprocess
from typing import Any, Sequence

from cases import case, equal, guest
from driving import HARNESS, Guest, Report
from under_test import PYTHON

TEXT = """
    import asyncio, http.client, json, socket, ssl, threading, time, urllib.request, urllib.error
    def get(url, timeout=None, data=None, method=None):
        request = urllib.request.Request(url, data, method=method)
        more = {} if timeout is None else {'timeout': timeout}
        with urllib.request.urlopen(request, **more) as answer:
            return answer.status, answer.headers.get('Content-Type'), answer.read()
    def failing(url, timeout=None):
        try:
            return get(url, timeout)
        except urllib.error.HTTPError as error:
            return error.code, None, error.read()
        except Exception as error:
            inner = getattr(error, 'reason', error)
            return type(inner).__name__, None, getattr(error, 'partial', None)
    def again(url, times):
        return [failing(url) for _ in range(times)]
    def keep_alive(host):
        connection = http.client.HTTPConnection(host)
        found = []
        for path in ('/a', '/b', '/c'):
            connection.request('GET', path)
            found.append(connection.getresponse().read())
        connection.close()
        return found
    def upload(host):
        connection = http.client.HTTPConnection(host)
        connection.request('PUT', '/big', iter([b'x' * 50_000] * 10), encode_chunked=True,
                           headers={'Transfer-Encoding': 'chunked'})
        first = connection.getresponse().status
        connection.close()
        connection.request('POST', '/long', b'x' * 500_000)
        found = first, connection.getresponse().read()
        connection.close()
        return found
    def head(host):
        connection = http.client.HTTPSConnection(host)
        connection.request('HEAD', '/')
        answer = connection.getresponse()
        found = answer.status, answer.read(), answer.headers['Content-Length']
        connection.close()
        return found
    def raw(host, port, data):
        with socket.create_connection((host, port)) as s:
            if data:
                s.sendall(data)
            return s.recv(100), s.getpeername()[1], s.family.name
    def certificate(host):
        context = ssl.create_default_context()
        with socket.create_connection((host, 443), timeout=3) as plain:
            with context.wrap_socket(plain, server_hostname=host) as s:
                s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
                answer = b''
                while True:
                    data = s.recv(1000)
                    if not data:
                        break
                    answer += data
                return isinstance(s, ssl.SSLSocket), s.version(), s.getpeercert(), answer[:12]
    async def fetch(host, port, tls):
        reader, writer = await asyncio.open_connection(host, port, ssl=tls or None)
        writer.write(b'GET /async HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')
        data = await reader.read()
        writer.close()
        return data
    async def fetch_with_timeout(host, port, seconds):
        try:
            return await asyncio.wait_for(fetch(host, port, False), seconds)
        except asyncio.TimeoutError:
            return 'gave up'
    def own_server():
        server = socket.create_server(('127.0.0.1', 0))
        port = server.getsockname()[1]
        def serve():
            connection, _ = server.accept()
            connection.sendall(b'own:' + connection.recv(100))
            connection.close()
        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(('127.0.0.1', port)) as s:
            s.sendall(b'hello')
            found = s.recv(100)
        thread.join()
        server.close()
        return found
    def names():
        one = socket.getaddrinfo('one.example', 'https', type=socket.SOCK_STREAM)
        again = socket.getaddrinfo('one.example', 443)
        return one[0][4] == again[0][4], socket.gethostbyname('two.example') != one[0][4][0]
    def took(host):
        began = time.perf_counter()
        s = socket.create_connection((host, 80))
        connected = time.perf_counter() - began
        s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
        began = time.perf_counter()
        size = len(s.recv(100))
        first = time.perf_counter() - began
        while True:
            data = s.recv(100_000)
            if not data:
                break
            size += len(data)
        s.close()
        return connected, first, time.perf_counter() - began, size
    def connect(host, port):
        try:
            socket.create_connection((host, port), 2).close()
            return 'connected'
        except OSError as error:
            return type(error).__name__, error.errno
"""
ALL = {"answer_all": True, "mocks": []}


def mock(url: str, body: bytes = b"", **more: object) -> dict[str, object]:
    """An answer that was recorded."""
    made = {"method": None, "url": url, "status": 200, "headers": [], "body": body}
    return {**made, "delay_ms": 0, "times": None, **more}


def only(*mocks: dict[str, object]) -> dict[str, Any]:
    return {"answer_all": False, "mocks": list(mocks)}


def value(full: Report) -> Any:
    assert full["kind"] == "returned", full["exception"]
    return full["value"]["value"]


def quiet(full: Report) -> None:
    """Nothing of the harness's is left or noted."""
    left = (full["leaked_threads"], full["leaked_descriptors"], full["notes"], full["violations"])
    equal(left, ([], [], [], []))


@case
def the_first_recorded_answer_that_fits_is_given() -> None:
    mocks = only(
        mock("http://api.example/items/*", b"[1]", times=1),
        mock("http://api.example/items/*", b"[2]"),
        mock("http://api.example/*", b"posted", method="post", status=201),
        mock("https://*.example:8443/x?a=*&b", b"secure", headers=[["Content-Type", "x/y"]]),
    )
    with guest(TEXT) as one:
        full = one.call("m:again", ["http://api.example/items/7", 3], upstream=mocks)
        bodies = [item[1][2] for item in value(full)[1]]
        equal(bodies, [b"[1]", b"[2]", b"[2]"])
        asked = [["GET http://api.example/items/7", "200"]] * 3
        equal(full["upstream"], {"requests": asked, "without_timeout": 0})
        quiet(full)
        full = one.call("m:get", ["http://api.example/new", None, b"x"], upstream=mocks)
        equal(value(full), ("t", [201, "text/plain", b"posted"]))
        full = one.call("m:get", ["https://a.b.example:8443/x?a=1&b"], upstream=mocks)
        equal(value(full), ("t", [200, "x/y", b"secure"]))
        equal(full["upstream"]["requests"], [["GET https://a.b.example:8443/x?a=1&b", "200"]])
        quiet(full)


@case
def unmocked_hosts_are_unreachable_unless_all_requests_are_answered() -> None:
    with guest(TEXT) as one:
        mocks = only(mock("http://api.example/x"))
        full = one.call("m:failing", ["http://other.example/"], upstream=mocks)
        equal(value(full)[1][0], "ConnectionRefusedError")
        equal(full["upstream"]["requests"], [["tcp other.example:80", "refused"]])
        full = one.call("m:failing", ["http://api.example/y"], upstream=mocks)
        equal(value(full)[1][0], "ConnectionResetError")
        equal(full["upstream"]["requests"], [["GET http://api.example/y", "refused"]])
        full = one.call("m:get", ["http://other.example/"], upstream=ALL)
        equal(value(full), ("t", [200, "application/json", b"{}"]))
        # The next call has no upstream at all.
        equal(value(one.call("m:failing", ["http://other.example/"]))[1][0], "gaierror")


@case
def clients_may_keep_connections_and_send_much() -> None:
    with guest(TEXT) as one:
        full = one.call("m:keep_alive", ["h.example"], upstream=ALL)
        equal(value(full), ("l", [b"{}"] * 3))
        equal(len(full["upstream"]["requests"]), 3)
        equal(value(one.call("m:upload", ["h.example"], upstream=ALL)), ("t", [200, b"{}"]))
        equal(value(one.call("m:head", ["h.example"], upstream=ALL)), ("t", [200, b"", "2"]))
        large = only(mock("*", b"x" * 3_000_000))
        full = one.call("m:took", ["h.example"], upstream=large)
        assert value(full)[1][3] > 3_000_000, value(full)
        quiet(full)


@case
def other_protocols_are_echoed_and_a_silent_client_gets_a_banner() -> None:
    with guest(TEXT) as one:
        full = one.call("m:raw", ["cache.example", 6379, b"PING\r\n"], upstream=ALL)
        equal(value(full), ("t", [b"PING\r\n", 6379, "AF_INET"]))
        equal(full["upstream"]["requests"], [["tcp cache.example:6379", "echo"]])
        full = one.call("m:raw", ["mail.example", 25, b""], upstream=ALL)
        equal(value(full)[1][0], b"220 ready\r\n")
        equal(full["upstream"]["requests"], [["tcp mail.example:25", "banner"]])
        quiet(full)


@case
def tls_is_emulated_without_a_handshake() -> None:
    with guest(TEXT) as one:
        full = one.call("m:certificate", ["safe.example"], upstream=ALL)
        real, version, certificate, answer = value(full)[1]
        equal((real, version, answer), (True, "TLSv1.3", b"HTTP/1.1 200"))
        assert "safe.example" in repr(certificate), certificate
        equal(full["upstream"]["requests"], [["GET https://safe.example/", "200"]])
        quiet(full)


@case
def event_loops_are_answered() -> None:
    with guest(TEXT) as one:
        for port, tls, url in ((80, False, "http://x.example"), (443, True, "https://x.example")):
            full = one.call("m:fetch", ["x.example", port, tls], upstream=ALL)
            assert value(full).startswith(b"HTTP/1.1 200") and value(full).endswith(b"{}")
            equal(full["upstream"]["requests"], [["GET " + url + "/async", "200"]])
            quiet(full)


@case
def a_server_of_the_guests_own_can_still_be_reached() -> None:
    with guest(TEXT) as one:
        full = one.call("m:own_server", upstream=ALL)
        equal(value(full), b"own:hello")
        equal(full["upstream"]["requests"], [])
        equal(value(one.call("m:names", upstream=ALL)), ("t", [True, True]))


@case
def answers_take_as_long_as_the_link_says() -> None:
    network = {"latency_ms": 60.0, "jitter_ms": 0.0, "loss": 0.0, "bits_per_second": 0.0}
    with guest(TEXT) as one:
        full = one.call("m:took", ["h.example"], upstream=ALL, network=dict(network, partition=[]))
        connected, first, _, _ = value(full)[1]
        for seconds in (connected, first):
            assert 0.115 < seconds < 0.4, (connected, first)
        slow = dict(network, latency_ms=0.0, bits_per_second=800_000.0, partition=[])
        body = only(mock("*", b"x" * 30_000))
        _, first, whole, size = value(one.call("m:took", ["h"], upstream=body, network=slow))[1]
        assert 0.28 < whole < 0.6 and first < 0.2 and size > 30_000, (first, whole, size)
        delayed = only(mock("*", b"", delay_ms=150))
        _, first, _, _ = value(one.call("m:took", ["h"], upstream=delayed))[1]
        assert 0.145 < first < 0.5, first


@case
def packets_to_answers_vary_and_get_lost_as_the_link_says() -> None:
    network = {"latency_ms": 100.0, "jitter_ms": 40.0, "loss": 0.25}

    def times(seed: int) -> list[float]:
        script = (
            f"import sys; sys.path.insert(0, {HARNESS!r});"
            "from upstream import link; from faults import injection;"
            f"one = link.Link({network!r}, injection.FaultRandom({seed}, 'link'));"
            "print(*[one.one_way() for _ in range(2000)])"
        )
        printed = subprocess.check_output([PYTHON, "-I", "-B", "-c", script])
        return [float(seconds) for seconds in printed.split()]

    first = times(1)
    lost = [seconds for seconds in first if seconds > 0.2]
    arrived = [seconds for seconds in first if seconds <= 0.2]
    assert 0.2 < len(lost) / len(first) < 0.3, len(lost)
    assert 0.06 <= min(arrived) < 0.065, min(arrived)
    assert 0.135 < max(arrived) <= 0.14, max(arrived)
    assert abs(sum(arrived) / len(arrived) - 0.1) < 0.005
    equal(times(1), first)
    assert times(2) != first


@case
def partitioned_peers_are_unreachable_and_others_are_reachable() -> None:
    network = {"partition": [["far.example", None], [None, 81]]}
    with guest(TEXT) as one:
        for host, port, expected in (
            ("far.example", 80, ("t", ["OSError", 113])),
            ("near.example", 80, "connected"),
            ("near.example", 81, ("t", ["OSError", 113])),
        ):
            full = one.call("m:connect", [host, port], upstream=ALL, network=network)
            equal(value(full), expected, host)
        equal(full["upstream"]["requests"], [["tcp near.example:81", "unreachable"]])


@case
def an_unstable_service_fails_in_many_ways_and_the_same_way_twice() -> None:
    faults = [["flaky_upstream", "rate", 1.0]]
    with guest(TEXT) as one:
        seen = set()
        for seed in range(40):
            more: dict[str, Any] = {"upstream": ALL, "faults": faults, "seed": seed}
            full = one.call("m:failing", ["http://api.example/", 5.0], **more)
            status, kind, body = value(full)[1]
            ((what, answer),) = full["upstream"]["requests"]
            seen.add(answer)
            mode, offered, injected, first, last = full["fault_stats"][0]
            equal((mode, offered, injected), ("flaky_upstream", 1, 1))
            assert first == what + ": " + answer and last > 0, full["fault_stats"]
            if type(body) is bytes:
                assert b"menace corrupted reply" in body, (answer, body)
            expected = {
                "refused": "ConnectionRefusedError",
                "reset": "ConnectionResetError",
                "truncated": "IncompleteRead",
            }
            if answer in expected:
                equal(status, expected[answer])
            if answer == "silence":
                assert status in ("timeout", "TimeoutError"), status
            equal(full["upstream"]["without_timeout"], 0)
            quiet(full)
            if seed < 3:
                again = one.call("m:failing", ["http://api.example/", 5.0], **more)
                equal((again["upstream"], value(again)), (full["upstream"], value(full)))
        equal(len(seen), 10, seen)


@case
def a_fault_is_injected_at_its_trigger() -> None:
    with guest(TEXT) as one:
        faults = [["flaky_upstream", "nth", 3]]
        more: dict[str, Any] = {"upstream": ALL, "faults": faults, "seed": 5}
        full = one.call("m:again", ["http://api.example/", 5], **more)
        answers = [answer for _, answer in full["upstream"]["requests"]]
        equal([answer == "200" for answer in answers], [True, True, False, True, True])
        equal(full["fault_stats"][0][1:3], [5, 1])
        # The fault is injected without a mocked upstream, too.
        full = one.call("m:again", ["http://api.example/", 5], faults=faults, seed=5)
        equal(full["fault_stats"][0][1:3], [5, 1])
        equal("fault_stats" in one.call("m:again", ["http://api.example/", 1], upstream=ALL), False)


@case
def network_faults_are_injected_into_answers_too() -> None:
    with guest(TEXT) as one:
        for mode, kinds in (
            ("network", {"refused", "reset", "silence"}),
            ("network_partition", {"unreachable"}),
        ):
            more: dict[str, Any] = {"upstream": ALL, "faults": [[mode, "rate", 1.0]], "seed": 4}
            full = one.call("m:again", ["http://api.example/", 4], **more)
            answers = {answer for _, answer in full["upstream"]["requests"]}
            assert answers <= kinds, (mode, answers)
            # Of peers there is but one.
            count = 4 if mode == "network" else 1
            equal(full["fault_stats"][0][:3], [mode, count, count])
            quiet(full)
        # Without answers they are the init's.
        full = one.call("m:failing", ["http://api.example/"], faults=more["faults"])
        equal("fault_stats" in full, False)


@case
def what_fails_more_often_than_not_fails_at_once() -> None:
    with guest(TEXT) as one:
        for seed in range(6):
            more: dict[str, Any] = {
                "upstream": ALL,
                "faults": [["flaky_upstream", "rate", 0.5]],
                "seed": seed,
            }
            full = one.call("m:again", ["http://api.example/", 12], **more)
            _, offered, injected, _, _ = full["fault_stats"][0]
            assert offered == 12 and 1 <= injected < 12, full["fault_stats"]
            assert full["upstream"]["requests"][0][1] != "200", full["upstream"]


def silent_seed(one: Guest, name: str, args: Sequence[object], **more: Any) -> Report:
    """The first seed whose failure is silence."""
    for seed in range(200):
        full = one.call(
            "m:" + name, args, faults=[["flaky_upstream", "rate", 1.0]], seed=seed, **more
        )
        if full["upstream"]["requests"][0][1] == "silence":
            return full
    raise AssertionError("never silent")


@case
def a_request_without_a_timeout_is_reported_at_once() -> None:
    with guest(TEXT) as one:
        full = silent_seed(one, "failing", ["http://api.example/"], upstream=ALL)
        assert value(full)[1][0] in ("timeout", "TimeoutError"), value(full)
        equal(full["upstream"]["without_timeout"], 1)
        assert full["wall_ns"] < 3e9, full["wall_ns"]
        full = silent_seed(one, "failing", ["http://api.example/", 30.0], upstream=ALL)
        equal(full["upstream"]["without_timeout"], 0)
        full = silent_seed(one, "fetch", ["api.example", 80, False], upstream=ALL)
        assert full["exception"]["type"] in ("socket.timeout", "TimeoutError"), full["exception"]
        equal(full["upstream"]["without_timeout"], 1)
        full = silent_seed(one, "fetch_with_timeout", ["api.example", 80, 600.0], upstream=ALL)
        equal((value(full), full["upstream"]["without_timeout"]), ("gave up", 0))


@case
def of_several_faults_each_has_its_turn_to_be_the_first() -> None:
    # As `chaotic_failure` has them at `high`.
    faults = [["network_partition", "rate", 0.7], ["flaky_upstream", "rate", 0.7]]
    mocks = only(mock("*", b"{}", status=401))
    with guest(TEXT) as one:

        def injected_and_status(seed: int, faults: Sequence[object]) -> tuple[list[str], int | str]:
            call: dict[str, Any] = {"upstream": mocks, "faults": faults, "seed": seed}
            full = one.call("m:failing", ["http://api.example/", 0.2], **call)
            injected = [stats[0] for stats in full["fault_stats"] if stats[2]]
            return injected, value(full)[1][0]

        results = [injected_and_status(seed, faults) for seed in range(24)]
        equal([injected_and_status(seed, faults) for seed in range(24)], results)
        answered = [code for injected, code in results if not injected]
        equal(set(answered), {401})
        first_modes = [injected[0] for injected, _ in results if injected]
        equal(len(first_modes) + len(answered), 24)
        for share in (
            first_modes.count("network_partition"),
            first_modes.count("flaky_upstream"),
            len(answered),
        ):
            # A third of them each: less happens once in a thousand times.
            assert share >= 2, (first_modes, answered)
        # A single fault is always injected.
        for fault in faults:
            for seed in range(6):
                equal(injected_and_status(seed, [fault])[0], [fault[0]])
        full = one.call("m:failing", ["http://api.example/"], upstream=mocks)
        equal(value(full)[1][0], 401)


@case
def answers_drift_too() -> None:
    faults = [["schema_drift", "rate", 1.0]]
    mocks = only(mock("*", b'{"user": {"name": "a"}, "id": 5}'))
    with guest(TEXT) as one:
        full = one.call("m:get", ["http://api.example/"], upstream=mocks, faults=faults)
        assert value(full)[1][2] != mocks["mocks"][0]["body"], value(full)
        equal(full["fault_stats"][0][:3], ["schema_drift", 1, 1])
        again = one.call("m:get", ["http://api.example/"], upstream=mocks, faults=faults)
        equal(value(again), value(full))
