"""Corrupted replies, as an unstable service sends them.

Invariant: every body among them holds the marker, which shows that a section passed it on.
"""

from __future__ import annotations

from upstream.http import encode_reply

CORRUPTED_MARKER = "menace corrupted reply"
BEFORE_ANSWER = ("refused", "reset", "silence")
KINDS = BEFORE_ANSWER + ("500", "502", "503", "garbage", "truncated", "html", "wrong shape")
# Failures of services that do not speak HTTP.
RAW_KINDS = BEFORE_ANSWER + ("garbage",)
GARBAGE = b"\x00\xff\xfe{]" + CORRUPTED_MARKER.encode() + b"\x80\x00"


def corrupt_reply(kind: str, method: str, good: bytes) -> bytes:
    """The bytes sent instead of a good body; the connection ends after them."""
    if kind.isdigit():
        body = ('{"error": "' + CORRUPTED_MARKER + '"}').encode()
        return encode_reply(int(kind), [], body, method, False)
    if kind == "garbage":
        return encode_reply(200, [("Content-Type", "application/json")], GARBAGE, method, False)
    if kind == "html":
        page = "<html><body><h1>" + CORRUPTED_MARKER + "</h1></body></html>"
        return encode_reply(200, [("Content-Type", "text/html")], page.encode(), method, False)
    if kind == "truncated":
        body = ('{"data": "' + CORRUPTED_MARKER).encode()
        whole = encode_reply(200, [], body + b" " * 512, method, False)
        return whole if method == "HEAD" else whole[:-512]
    # A list where an object is expected, and an object where a list is.
    swapped = (
        '{"' + CORRUPTED_MARKER + '": null}' if good[:1] == b"[" else '["' + CORRUPTED_MARKER + '"]'
    )
    return encode_reply(200, [], swapped.encode(), method, False)
