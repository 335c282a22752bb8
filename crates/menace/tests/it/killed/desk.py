"""A desk in a harbour, where one function fails."""

from typing import Dict, List


def counted(harbours: List[str]) -> Dict[str, int]:
    """How many passengers go to which harbour."""
    counts: Dict[str, int] = {}
    for harbour in harbours:
        counts[harbour] = counts.get(harbour, 0) + 1
    return counts


def foremost(names: List[str]) -> str:
    """The first name of the queue."""
    NAME = names[0]
    return NAME


def merged(first: Dict[str, int], second: Dict[str, int]) -> Dict[str, int]:
    """The counts of two ferries together."""
    total = dict(first)
    for harbour, count in second.items():
        total[harbour] = total.get(harbour, 0) + count
    return total
