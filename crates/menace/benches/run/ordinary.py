"""Small functions of the kind that most repositories are full of."""

import json
import re
from typing import Dict, List, Optional

WORD = re.compile(r"[A-Za-z0-9]+")


def slug(title: str) -> str:
    return "-".join(WORD.findall(title.lower()))


def mean(values: List[float]) -> float:
    if not values:
        raise ValueError("there are no values")
    return sum(values) / len(values)


def counted(words: List[str]) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def parsed(text: str) -> Dict[str, str]:
    values = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            values[name.strip()] = value.strip()
    return values


def discounted(cents: int, percent: Optional[int] = None) -> int:
    if percent is None:
        return cents
    return cents - cents * percent // 100


def described(record: Dict[str, str]) -> str:
    return json.dumps(record, sort_keys=True)


class Basket:
    def __init__(self, limit: int = 100) -> None:
        self.limit = limit
        self.items: List[str] = []

    def add(self, item: str) -> int:
        if len(self.items) >= self.limit:
            raise ValueError("the basket is full")
        self.items.append(item)
        return len(self.items)

    def listed(self) -> str:
        return ", ".join(sorted(self.items))
