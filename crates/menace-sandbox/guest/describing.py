"""Describes a result: type, `repr`, hash, length and typed copy.

The work is done by `printing`, `hashing` and `copying`; this is where they meet.
"""

from consuming import Collected
from copying import Copier
from hashing import Hasher
from names import full_name, is_one_of
from printing import Foreign, Printer

# No report has room for less.
SHORT = 100
LARGE = 1 << 62
SIZED = frozenset((str, bytes, bytearray, list, tuple, set, frozenset, dict))


def briefly(result):
    """What can be said of a result without asking it."""
    cls = type(result)
    if cls is Collected:
        name, length = result.type_name, len(result.items)
    else:
        name = "NoneType" if result is None else full_name(cls)
        length = len(result) if is_one_of(cls, SIZED) else None
    return {
        "type": name,
        "repr": "",
        "truncated": True,
        "hash": None,
        "value": None,
        "length": length,
    }


def scalar(result):
    """Whether this is one of the small results that need no care: most are."""
    cls = type(result)
    if cls is str or cls is bytes:
        return len(result) <= SHORT
    return result is None or cls is bool or cls is float or cls is int and -LARGE < result < LARGE


def simply(described, result):
    """Completes the brief description of a scalar."""
    described["repr"] = repr(result)
    described["truncated"] = False
    described["hash"] = HASH_OF_NONE if result is None else Hasher(None).digest(result)
    described["value"] = result


def fully(described, result, caps, guard, notes):
    """Completes the brief description."""
    if type(result) is Collected:
        result = result.items
    foreign = Foreign(guard, notes)
    printer = Printer(caps["repr"], caps["depth"], foreign)
    described["repr"], described["truncated"] = printer.text(result)
    hasher = Hasher(foreign)
    digest = hasher.digest(result)
    if hasher.cut:
        notes.append("the hash covers only a part of the result")
    if not foreign.incomplete:
        described["hash"] = digest
    described["value"] = Copier(caps["items"], caps["depth"]).copy(result)


HASH_OF_NONE = Hasher(None).digest(None)
