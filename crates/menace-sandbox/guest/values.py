"""Builds receivers and arguments from their descriptions (see "Values" in the protocol).

Finding what a name leads to belongs to `modules`. Errors of the guest's constructors pass through.
"""


def _make_constant(value):
    def constant(*_args, **_kwargs):
        return value

    return constant


# With globals of its own, so that `__globals__` of the callable does not lead to the harness.
STUB_GLOBALS = {"__name__": "stub", "__builtins__": {}}


def apart(maker):
    """The maker of a callable, cut off from the harness."""
    return type(maker)(maker.__code__, STUB_GLOBALS)


_make_constant = apart(_make_constant)


class Builder:
    """Builds the values of one call; labels are shared between all of them."""

    __slots__ = ("find", "remembered")

    def __init__(self, find):
        self.find = find
        self.remembered = {}

    def build(self, described):
        """The value that a description stands for."""
        if type(described) is not tuple:
            return described
        return MAKERS[described[0]](self, described, None)

    def call(self, function, args, kwargs):
        """Calls with described arguments."""
        positional = []
        for value in args:
            positional.append(self.build(value))
        named = {}
        for name, value in kwargs:
            named[name] = self.build(value)
        return function(*positional, **named)

    def _fill_later(self, label, container):
        if label is not None:
            self.remembered[label] = container
        return container

    def _list(self, described, label):
        made = self._fill_later(label, [])
        for item in described[1]:
            made.append(self.build(item))
        return made

    def _tuple(self, described, _label):
        return tuple(self._list(described, None))

    def _set(self, described, label):
        made = self._fill_later(label, set())
        for item in described[1]:
            made.add(self.build(item))
        return made

    def _frozenset(self, described, _label):
        return frozenset(self._list(described, None))

    def _dict(self, described, label):
        made = self._fill_later(label, {})
        for key, value in described[1]:
            key = self.build(key)
            made[key] = self.build(value)
        return made

    def _bytearray(self, described, label):
        return self._fill_later(label, bytearray(described[1]))

    def _complex(self, described, _label):
        return complex(described[1], described[2])

    def _int(self, described, _label):
        return int(described[1], 16)

    def _ellipsis(self, _described, _label):
        return ...

    def _reference(self, described, _label):
        return self.find(described[1])

    def _new(self, described, _label):
        return self.call(self.find(described[1]), described[2], described[3])

    def _method(self, described, _label):
        subject = self.build(described[1])
        return self.call(getattr(subject, described[2]), described[3], described[4])

    def _repeated(self, described, _label):
        return self.build(described[1]) * described[2]

    def _remember(self, described, _label):
        label, inner = described[1], described[2]
        if type(inner) is tuple:
            made = MAKERS[inner[0]](self, inner, label)
        else:
            made = inner
        self.remembered[label] = made
        return made

    def _recall(self, described, _label):
        return self.remembered[described[1]]

    def _callable(self, described, _label):
        return _make_constant(self.build(described[1]))

    def _stub(self, described, _label):
        # Loaded by the calls that need it only.
        from stubs import STUBS

        return STUBS[described[0]](self, described)


MAKERS = {
    "l": Builder._list,
    "t": Builder._tuple,
    "s": Builder._set,
    "z": Builder._frozenset,
    "d": Builder._dict,
    "a": Builder._bytearray,
    "c": Builder._complex,
    "i": Builder._int,
    "e": Builder._ellipsis,
    "r": Builder._reference,
    "n": Builder._new,
    "m": Builder._method,
    "x": Builder._repeated,
    "g": Builder._remember,
    "v": Builder._recall,
    "f": Builder._callable,
    "b": Builder._stub,
    "y": Builder._stub,
    "k": Builder._stub,
    "w": Builder._stub,
    "o": Builder._stub,
    "h": Builder._stub,
}
