"""Describes a result: type, `repr`, hash, length and typed copy.

The work is done by `printing`, `hashing` and `copying`; this is where they meet.
"""

from consuming import Collected
from copying import Copier
from hashing import Hasher
from names import full_name, is_one_of
from printing import Foreign, Printer

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


def fully(described, result, caps, guard, notes):
    """Completes the brief description."""
    if type(result) is Collected:
        result = result.items
    if result is None and caps["repr"] >= 4:
        # The most frequent result, and the one for which a forked process need do nothing.
        described["repr"] = "None"
        described["truncated"] = False
        described["hash"] = HASH_OF_NONE
        return
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
