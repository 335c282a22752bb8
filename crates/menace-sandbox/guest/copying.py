"""The typed copy of a result: plain values in the protocol's description of values.

Invariant: a copy is complete or it is `None`; it never stands for something that it is not.
"""

from names import is_one_of

LARGEST_TEXT = 65536
LARGEST_INT_BITS = 262_144
MOST_NODES = 20_000
TAGS = {list: "l", tuple: "t", set: "s", frozenset: "z", dict: "d"}


class _Impossible(Exception):
    pass


class Copier:
    """Copies one result."""

    __slots__ = ("deepest", "labels", "longest", "nodes", "path", "text")

    def __init__(self, longest, deepest):
        self.longest = longest
        self.deepest = deepest
        self.nodes = 0
        self.text = 0
        self.path = {}
        self.labels = {}

    def copy(self, subject):
        """The description of the result, or `None`."""
        try:
            return self._copied(subject, 0)
        except _Impossible:
            return None

    def _copied(self, subject, depth):
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise _Impossible
        cls = type(subject)
        if cls is int:
            bits = subject.bit_length()
            if bits < 64:
                return subject
            if bits > LARGEST_INT_BITS:
                raise _Impossible
            return ("i", hex(subject))
        if cls is str or cls is bytes or cls is bytearray:
            self.text += len(subject)
            if self.text > LARGEST_TEXT:
                raise _Impossible
            return ("a", bytes(subject)) if cls is bytearray else subject
        if subject is None or cls is bool or cls is float:
            return subject
        if is_one_of(cls, TAGS):
            return self._container(subject, cls, depth)
        if cls is complex:
            return ("c", subject.real, subject.imag)
        if subject is ...:
            return ("e",)
        raise _Impossible

    def _container(self, subject, cls, depth):
        key = id(subject)
        if key in self.path:
            return ("v", self.labels.setdefault(key, len(self.labels)))
        if depth >= self.deepest or len(subject) > self.longest:
            raise _Impossible
        self.path[key] = True
        if cls is dict:
            items = [
                [self._copied(name, depth + 1), self._copied(value, depth + 1)]
                for name, value in subject.items()
            ]
        else:
            items = [self._copied(item, depth + 1) for item in subject]
            if cls is set or cls is frozenset:
                items.sort(key=repr)
        del self.path[key]
        copied = (TAGS[cls], items)
        label = self.labels.get(key)
        return copied if label is None else ("g", label, copied)
