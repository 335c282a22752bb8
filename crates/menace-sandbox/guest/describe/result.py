"""Describes a result: type, `repr`, hash, length and typed copy.

Combines `bounded_repr`, `digest` and `typed_copy`.
"""

from __future__ import annotations

from describe.bounded_repr import ForeignObject, Printer
from describe.digest import Hasher
from describe.introspect import full_name, is_one_of
from describe.typed_copy import Copier
from runtime.consume import CollectedItems

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from describe.time_budget import TimeBudget

# Every report has room for a `repr` of this length.
SHORT = 100
LARGE = 1 << 62
SIZED = frozenset((str, bytes, bytearray, list, tuple, set, frozenset, dict))


def describe_type(result: Any) -> dict:
    """The part of a description that needs no method of the result."""
    cls = type(result)
    if cls is CollectedItems:
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


def is_scalar(result: Any) -> bool:
    """Whether the result is a small value of a builtin type, as most are."""
    cls = type(result)
    if cls is str or cls is bytes:
        return len(result) <= SHORT
    return result is None or cls is bool or cls is float or cls is int and -LARGE < result < LARGE


def describe_scalar(described: dict, result: object) -> None:
    """Completes the description of a scalar."""
    described["repr"] = repr(result)
    described["truncated"] = False
    described["hash"] = HASH_OF_NONE if result is None else Hasher(None).digest(result)
    described["value"] = result


def describe_value(
    described: dict, result: object, description_limits: dict, budget: TimeBudget, notes: list
) -> None:
    """Completes the description of any other result."""
    if type(result) is CollectedItems:
        result = result.items
    foreign = ForeignObject(budget, notes)
    printer = Printer(description_limits["repr"], description_limits["depth"], foreign)
    described["repr"], described["truncated"] = printer.text(result)
    hasher = Hasher(foreign)
    digest = hasher.digest(result)
    if hasher.cut:
        notes.append("the hash covers only a part of the result")
    if not foreign.incomplete:
        described["hash"] = digest
    described["value"] = Copier(description_limits["items"], description_limits["depth"]).copy(
        result
    )


HASH_OF_NONE = Hasher(None).digest(None)
