"""A hash of 32 hex digits that equal results share, whatever the order of sets and dictionaries.

Plain values are hashed by content; objects of the guest by type and `repr`, without addresses in
it. Bounded: of a long text only its length and its first and last MiB are hashed, of a large
structure about the first hundred thousand values. Invariant: addresses and the order of iteration
do not change the hash.
"""

from __future__ import annotations

from _blake2 import blake2b

from describe.introspect import full_name, is_one_of

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from concurrency.state_digest import StateDigest
    from describe.bounded_repr import ForeignObject

MIB = 1 << 20
MAX_NODES = 100_000
MAX_DEPTH = 200
TAGS: dict[type, bytes] = {list: b"l", tuple: b"t", set: b"s", frozenset: b"z", dict: b"d"}


class Hasher:
    """Hashes one result."""

    __slots__ = ("cut", "foreign", "nodes", "path")
    UNORDERED = frozenset((set, frozenset))

    def __init__(self, foreign: ForeignObject | StateDigest | None) -> None:
        self.foreign: Any = foreign
        self.nodes = 0
        self.cut = False
        self.path: dict = {}

    def digest(self, subject: object) -> str:
        """The hash of the result."""
        return blake2b(self._encoded(subject, 0), digest_size=16).hexdigest()

    def _encoded(self, subject: Any, depth: int) -> bytes:
        self.nodes += 1
        cls = type(subject)
        if cls is str:
            return _long(b"u", subject, _utf8)
        if cls is int:
            return b"i" + _hex(subject)
        if subject is None or cls is bool or subject is ...:
            return b"c" + repr(subject).encode()
        if cls is float:
            return b"f" + subject.hex().encode()
        if cls is bytes:
            return _long(b"b", subject, bytes)
        if cls is bytearray:
            return _long(b"a", subject, bytes)
        if is_one_of(cls, TAGS):
            return self._container(subject, cls, depth)
        if cls is complex:
            return b"j" + subject.real.hex().encode() + b"," + subject.imag.hex().encode()
        name = full_name(cls)
        return _long(b"o", name + "\0" + without_addresses(self.foreign.text(subject)), _utf8)

    def _container(self, subject: Any, cls: type, depth: int) -> bytes:
        above = self.path.get(id(subject))
        if above is not None:
            return b"^" + str(depth - above).encode()
        if depth >= MAX_DEPTH:
            self.cut = True
            return b"..." + TAGS[cls]
        self.path[id(subject)] = depth
        parts = []
        if cls is dict:
            for key, value in subject.items():
                if self.nodes >= MAX_NODES:
                    self.cut = True
                    break
                parts.append(
                    _short(self._encoded(key, depth + 1)) + _short(self._encoded(value, depth + 1))
                )
            parts.sort()
        else:
            for item in subject:
                if self.nodes >= MAX_NODES:
                    self.cut = True
                    break
                parts.append(_short(self._encoded(item, depth + 1)))
            if cls in self.UNORDERED:
                parts.sort()
        del self.path[id(subject)]
        head = TAGS[cls] + str(len(subject)).encode() + b":"
        return _short(head + b"".join(parts))


def _short(encoded: bytes) -> bytes:
    """A part with its length before it, so that lists of parts have unique encodings."""
    if len(encoded) > 64:
        encoded = b"#" + blake2b(encoded, digest_size=16).digest()
    return bytes((len(encoded),)) + encoded


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _long(tag: bytes, subject: Any, encode: Callable) -> bytes:
    length = len(subject)
    head = tag + str(length).encode() + b":"
    if length <= 2 * MIB:
        return head + encode(subject)
    return head + encode(subject[:MIB]) + encode(subject[-MIB:])


def _hex(number: int) -> bytes:
    bits = number.bit_length()
    if bits <= 16 * MIB:
        return hex(number).encode()
    low = number & ((1 << 8 * MIB) - 1)
    high = number >> (bits - 8 * MIB)
    return str(bits).encode() + b":" + hex(high).encode() + hex(low).encode()


def without_addresses(text: str) -> str:
    """The text without ` at 0x…`, where equal objects differ."""
    mark = " at 0x"
    if mark not in text:
        return text
    first, *rest = text.split(mark)
    parts = [first]
    for piece in rest:
        parts.append(piece.lstrip("0123456789abcdefABCDEF"))
    return "".join(parts)
