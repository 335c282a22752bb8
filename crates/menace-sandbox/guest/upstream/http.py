"""Parses HTTP requests and encodes replies, from recorded ones where they match.

Only bytes here; connections belong to `server`. Invariant: whatever a client sends, a request is
either complete, unfinished or no request, and nothing is raised.
"""

from __future__ import annotations

MAX_HEAD_BYTES = 1 << 16
METHODS = frozenset(b"GET HEAD POST PUT DELETE PATCH OPTIONS TRACE CONNECT".split())
MAX_METHOD_BYTES = 16
REASONS = {200: "OK", 204: "No Content", 400: "Bad Request", 404: "Not Found"}
DEFAULT_PORTS = {"http": 80, "https": 443}
EMPTY = {"status": 200, "headers": [], "body": b"{}", "delay_ms": 0}


class Request:
    """One request, with the URL as its sender would write it."""

    __slots__ = ("body", "keep_alive", "length", "method", "target")

    def __init__(
        self, method: str, target: str, body: bytes, length: int, keep_alive: bool
    ) -> None:
        self.method = method
        self.target = target
        self.body = body
        # The number of bytes of the request.
        self.length = length
        # Whether the client may send another request on the same connection.
        self.keep_alive = keep_alive

    def url(self, origin: str) -> str:
        """The complete URL."""
        return self.target if "://" in self.target else origin + self.target


def speaks_http(data: bytes) -> bool | None:
    """Whether the data begins an HTTP request; `None` while that is not certain."""
    line, end, _ = data.partition(b"\n")
    if end and b" HTTP/" not in line:
        return False
    method, space, _ = data[:MAX_METHOD_BYTES].partition(b" ")
    if space:
        return method in METHODS or method.isalpha() and method.isupper()
    if len(data) >= MAX_METHOD_BYTES or not (data.isalpha() and data.isupper()):
        return False if data else None
    return None


def parse(data: bytes) -> Request | None:
    """The first request in the data, or `None` while it is incomplete."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    lines = head.split(b"\r\n")
    words = lines[0].decode("latin-1").split(" ")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.strip().lower()] = value.strip()
    if "chunked" in fields.get("transfer-encoding", "").lower():
        body, taken = _chunks(rest)
    else:
        length = fields.get("content-length", "0")
        taken = int(length) if length.isdigit() else 0
        body = rest[:taken] if len(rest) >= taken else None
    if body is None:
        return None
    keep_alive = fields.get("connection", "").lower() != "close" and words[-1] != "HTTP/1.0"
    target = words[1] if len(words) > 1 else "/"
    return Request(words[0], target, body, len(head) + 4 + taken, keep_alive)


def expects_continue(data: bytes) -> bool:
    """Whether the client waits for `100 Continue` before it sends the body."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return bool(end) and not rest and b"100-continue" in head.lower()


def _chunks(data: bytes) -> tuple:
    """A chunked body and its encoded length; `None` while it is incomplete."""
    body: list = []
    at = 0
    while True:
        line, end, _ = data[at : at + 64].partition(b"\r\n")
        if not end:
            return None, 0
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError:
            size = 0
        at += len(line) + 2
        if len(data) < at + size + 2:
            return None, 0
        if size <= 0:
            return b"".join(body), at + 2
        body.append(data[at : at + size])
        at += size + 2


def origin(scheme: str, host: str, port: int) -> str:
    """Scheme, host and port of a URL; default ports are left out."""
    if DEFAULT_PORTS.get(scheme) == port:
        return scheme + "://" + host
    return scheme + "://" + host + ":" + str(port)


def matches(pattern: str, text: str) -> bool:
    """Whether the text matches a pattern in which `*` stands for any text."""
    first, *parts = pattern.split("*")
    if not parts:
        return pattern == text
    if not text.startswith(first):
        return False
    at = len(first)
    *inner, last = parts
    for part in inner:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - len(last) >= at and text.endswith(last)


class Mocks:
    """The mocked replies; the first that matches is used."""

    __slots__ = ("answer_all", "left", "mocks")

    def __init__(self, upstream: dict) -> None:
        self.mocks = upstream["mocks"]
        self.left = [mock["times"] for mock in self.mocks]
        self.answer_all = upstream["answer_all"]

    def knows(self, host: str, port: int) -> bool:
        """Whether a mocked service has this host and port."""
        if self.answer_all:
            return True
        origins = [origin(scheme, host, port) for scheme in DEFAULT_PORTS]
        for mock in self.mocks:
            scheme, mark, rest = mock["url"].partition("://")
            pattern = scheme + mark + rest.partition("/")[0]
            if any(matches(pattern, origin) for origin in origins):
                return True
        return False

    def find(self, method: str, url: str) -> dict | None:
        """The mocked reply for this request, or `None`."""
        for at, mock in enumerate(self.mocks):
            asked = mock["method"]
            if asked is not None and asked.upper() != method:
                continue
            if self.left[at] == 0 or not matches(mock["url"], url):
                continue
            if self.left[at] is not None:
                self.left[at] -= 1
            return mock
        return EMPTY if self.answer_all else None


def encode_reply(
    status: int, headers: list, body: bytes, method: str = "GET", keep_alive: bool = True
) -> bytes:
    """The encoded reply."""
    names = {name.lower() for name, _ in headers}
    lines = ["HTTP/1.1 " + str(status) + " " + REASONS.get(status, "Answer")]
    lines += [name + ": " + value for name, value in headers if name.lower() not in FRAMING]
    if "content-type" not in names:
        kind = "application/json" if body[:1] in (b"{", b"[") else "text/plain"
        lines.append("Content-Type: " + kind)
    bare = status in (204, 304) or status < 200
    if not bare:
        lines.append("Content-Length: " + str(len(body)))
    if not keep_alive:
        lines.append("Connection: close")
    head = "\r\n".join(lines) + "\r\n\r\n"
    text = b"" if bare or method == "HEAD" else body
    return head.encode("latin-1", "replace") + text


# Headers that `encode_reply` writes itself.
FRAMING = frozenset(("content-length", "transfer-encoding", "connection"))
