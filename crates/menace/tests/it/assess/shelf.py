"""A shelf, and what is computed of the things on it."""

from typing import List

__all__ = ["Shelf", "initial", "mean"]


def mean(numbers: List[float]) -> float:
    """The mean of some numbers."""
    return sum(numbers) / len(numbers)


def initial(name: str) -> str:
    """The first letter of a name, as a capital."""
    return _first_letter(name).upper()


def _first_letter(text: str) -> str:
    return text[0]


class Shelf:
    """Things in a row."""

    def __init__(self) -> None:
        self._things = ["cup", "plate", "bowl"]

    def __getitem__(self, position: int) -> str:
        return self._things[position]
