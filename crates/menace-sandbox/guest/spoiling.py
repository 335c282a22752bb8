"""Answers that no client should take for good: what an unstable service sends.

Invariant: every body among them holds the mark, so that whoever passes it on can be told.
"""

from answering import written

MARK = "menace spoilt answer"
BEFORE_ANSWER = ("refused", "reset", "silence")
KINDS = BEFORE_ANSWER + ("500", "502", "503", "garbage", "truncated", "html", "wrong shape")
# For those who do not speak HTTP.
RAW_KINDS = BEFORE_ANSWER + ("garbage",)
GARBAGE = b"\x00\xff\xfe{]" + MARK.encode() + b"\x80\x00"


def spoilt(kind, method, good):
    """What is sent instead of a good body; the connection ends after it."""
    if kind.isdigit():
        body = ('{"error": "' + MARK + '"}').encode()
        return written(int(kind), [], body, method, False)
    if kind == "garbage":
        return written(200, [("Content-Type", "application/json")], GARBAGE, method, False)
    if kind == "html":
        page = "<html><body><h1>" + MARK + "</h1></body></html>"
        return written(200, [("Content-Type", "text/html")], page.encode(), method, False)
    if kind == "truncated":
        body = ('{"data": "' + MARK).encode()
        whole = written(200, [], body + b" " * 512, method, False)
        return whole if method == "HEAD" else whole[:-512]
    # A list where there was an object, and an object where there was a list.
    body = '{"' + MARK + '": null}' if good[:1] == b"[" else '["' + MARK + '"]'
    return written(200, [], body.encode(), method, False)
