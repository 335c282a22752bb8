"""Requests through `requests`, `httpx` and `aiohttp`, for a Python with them: `--libraries`."""

from __future__ import annotations

from typing import Any, Iterator

from cases import equal, guest, library_case
from driving import Guest

from upstream import ALL, mock, only, quiet, value

# Each has the same three functions: one request, two over one client, one without error handling.
# A failed request is reported as the library's own exception, as its users would see it.
TEXTS = {
    "requests": """
        import requests
        def status_and_body(answer):
            return answer.status_code, answer.json()
        def get(url, timeout=5.0):
            try:
                return status_and_body(requests.get(url, timeout=timeout))
            except requests.RequestException as error:
                return type(error).__name__, None
        def post_twice(url):
            with requests.Session() as client:
                more = {'json': {'a': 1}, 'timeout': 5.0}
                return [status_and_body(client.post(url, **more)) for _ in range(2)]
        def status(url):
            return requests.get(url, timeout=5.0).status_code
    """,
    "httpx": """
        import httpx, json
        def status_and_body(answer):
            return answer.status_code, answer.json()
        def get(url, timeout=5.0):
            try:
                return status_and_body(httpx.get(url, timeout=timeout))
            except (httpx.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
                return type(error).__name__, None
        def post_twice(url):
            with httpx.Client(timeout=5.0) as client:
                return [status_and_body(client.post(url, json={'a': 1})) for _ in range(2)]
        def status(url):
            return httpx.get(url, timeout=5.0).status_code
    """,
    "httpx.AsyncClient": """
        import httpx, json
        def status_and_body(answer):
            return answer.status_code, answer.json()
        async def get(url, timeout=5.0):
            try:
                async with httpx.AsyncClient(timeout=timeout) as client:
                    return status_and_body(await client.get(url))
            except (httpx.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
                return type(error).__name__, None
        async def post_twice(url):
            async with httpx.AsyncClient(timeout=5.0) as client:
                return [status_and_body(await client.post(url, json={'a': 1})) for _ in range(2)]
        async def status(url):
            async with httpx.AsyncClient(timeout=5.0) as client:
                return (await client.get(url)).status_code
    """,
    "aiohttp": """
        import aiohttp, asyncio, json
        def client(timeout=5.0):
            return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout))
        async def status_and_body(request):
            async with request as answer:
                return answer.status, await answer.json(content_type=None)
        async def get(url, timeout=5.0):
            try:
                async with client(timeout) as session:
                    return await status_and_body(session.get(url))
            except asyncio.TimeoutError:
                return 'TimeoutError', None
            except (aiohttp.ClientError, json.JSONDecodeError, UnicodeDecodeError) as error:
                return type(error).__name__, None
        async def post_twice(url):
            async with client() as session:
                return [await status_and_body(session.post(url, json={'a': 1})) for _ in range(2)]
        async def status(url):
            async with client() as session:
                async with session.get(url) as answer:
                    return answer.status
    """,
}


def libraries() -> Iterator[tuple[str, Guest]]:
    """Each library with a guest that calls out through it."""
    for library, text in TEXTS.items():
        with guest(text) as one:
            yield library, one


@library_case
def libraries_are_given_the_answers_that_were_recorded() -> None:
    mocks = only(
        mock("https://api.example/x*", b'{"a": 1}', method="get"),
        mock("http*://api.example/x", b"[2]", method="post", status=201),
    )
    for library, one in libraries():
        full = one.call("m:get", ["https://api.example/x?y=1"], upstream=mocks)
        equal(value(full), ("t", [200, ("d", [["a", 1]])]), library)
        asked = [["GET https://api.example/x?y=1", "200"]]
        equal(full["upstream"], {"requests": asked, "without_timeout": 0}, library)
        quiet(full)
        for scheme in ("http", "https"):
            full = one.call("m:post_twice", [scheme + "://api.example/x"], upstream=mocks)
            equal(value(full), ("l", [("t", [201, ("l", [2])])] * 2), library)
            asked = [["POST " + scheme + "://api.example/x", "201"]] * 2
            equal(full["upstream"]["requests"], asked, library)
            quiet(full)


@library_case
def libraries_report_each_way_in_which_a_service_fails() -> None:
    url = "https://api.example/x"
    corrupted = ("d", [["error", "menace corrupted reply"]])
    # What users of each library have to reckon with, and what they get to see.
    expected = {
        "refused": {"ConnectionError", "ConnectError", "ClientConnectorError"},
        "reset": {"ConnectionError", "ReadError", "ClientOSError", "ServerDisconnectedError"},
        "truncated": {
            *("ChunkedEncodingError", "ConnectionError", "RemoteProtocolError"),
            *("ClientPayloadError", "JSONDecodeError"),
        },
        "garbage": {"JSONDecodeError", "UnicodeDecodeError"},
        "html": {"JSONDecodeError"},
        "silence": {"ReadTimeout", "ConnectTimeout", "TimeoutError"},
    }
    faults = [["flaky_upstream", "rate", 1.0]]
    for library, one in libraries():
        for kind in ("500", "502", "503", *expected):
            more: dict[str, Any] = {
                "upstream": {**ALL, "failure": kind},
                "faults": faults,
                "seed": 3,
            }
            full = one.call("m:get", [url], **more)
            status, body = value(full)[1]
            what = f"{library}, {kind}: {status} {body} {full['upstream']}"
            if kind in expected:
                assert status in expected[kind], what
            else:
                equal((status, body), (int(kind), corrupted), what)
            assert (
                full["fault_stats"][0][0] == "flaky_upstream" and full["fault_stats"][0][2] >= 1
            ), what
            assert kind in {answer for _, answer in full["upstream"]["requests"]}, what
            equal(full["upstream"]["without_timeout"], 0, what)
            again = one.call("m:get", [url], **more)
            equal((value(again), again["upstream"]), (value(full), full["upstream"]), what)
        # And the next call has a good service again.
        equal(value(one.call("m:status", [url], upstream=ALL)), 200, library)


@library_case
def requests_of_libraries_without_a_timeout_are_reported() -> None:
    more: dict[str, Any] = {
        "upstream": {**ALL, "failure": "silence"},
        "faults": [["flaky_upstream", "rate", 1.0]],
        "seed": 3,
    }
    for library, one in libraries():
        full = one.call("m:get", ["http://api.example/x", None], **more)
        # Some ask once more when they get no answer.
        assert full["upstream"]["without_timeout"] >= 1, (library, full)


@library_case
def libraries_give_up_on_answers_that_take_too_long() -> None:
    slow = only(mock("*", b"{}", delay_ms=20_000))
    for library, one in libraries():
        full = one.call("m:get", ["http://api.example/x", 0.2], upstream=slow)
        assert value(full)[1][0] in ("ReadTimeout", "TimeoutError"), (library, value(full))


@library_case
def libraries_reach_no_host_without_a_mock() -> None:
    for library, one in libraries():
        full = one.call(
            "m:get", ["http://other.example/x"], upstream=only(mock("http://a.example/"))
        )
        status = value(full)[1][0]
        assert status in ("ConnectionError", "ConnectError", "ClientConnectorError"), (
            library,
            full,
        )
        equal(full["upstream"]["requests"], [["tcp other.example:80", "refused"]], library)
