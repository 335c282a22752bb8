"""One function for every kind of parameter; each returns only for what it asks for."""

import abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import pathlib
import uuid
from typing import (
    IO,
    Annotated,
    Any,
    BinaryIO,
    Callable,
    Dict,
    Generic,
    List,
    Literal,
    NamedTuple,
    Optional,
    Protocol,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
)

T = TypeVar("T")


def _sure(is_right: bool) -> bool:
    if not is_right:
        raise SystemError("this is not what was asked for")
    return is_right


class Film(TypedDict):
    title: str
    year: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Pair(NamedTuple):
    left: int
    right: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Speaker(Protocol):
    def speak(self) -> str: ...


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Account:
    def __init__(self, owner: str, limit: decimal.Decimal) -> None:
        if not isinstance(limit, decimal.Decimal):
            raise SystemError("no limit")
        self.owner = owner


class Crate(Generic[T]):
    def __init__(self, content: T) -> None:
        self.content = content


def optional(value: Optional[int]):
    return _sure(value is None or type(value) is int)


def union(value: Union[int, str]):
    return _sure(isinstance(value, (int, str)))


def literal(value: Literal["asc", "desc"]):
    return _sure(value in ("asc", "desc"))


def annotated(value: Annotated[int, "metres"]):
    return _sure(type(value) is int)


def typed_dict(value: Film):
    return _sure(type(value["title"]) is str and type(value["year"]) is int)


def data_class(value: Point):
    return _sure(isinstance(value, Point) and type(value.x) is int)


def named_tuple(value: Pair):
    return _sure(isinstance(value, Pair) and type(value.right) is str)


def enumeration(value: Colour):
    return _sure(isinstance(value, Colour))


def protocol(value: Speaker):
    return _sure(type(value.speak()) is str)


def abstract(value: Shape):
    return _sure(isinstance(value, Shape) and isinstance(value.area(), float))


def callback(value: Callable[[int], str]):
    return _sure(type(value(1)) is str)


def path(value: pathlib.Path):
    return _sure(isinstance(value, pathlib.Path))


def moment(value: datetime.datetime):
    return _sure(isinstance(value, datetime.datetime))


def day(value: datetime.date):
    return _sure(isinstance(value, datetime.date))


def hour(value: datetime.time):
    return _sure(isinstance(value, datetime.time))


def span(value: datetime.timedelta):
    return _sure(isinstance(value, datetime.timedelta))


def zone(value: datetime.tzinfo):
    return _sure(isinstance(value, datetime.tzinfo))


def number(value: decimal.Decimal):
    return _sure(isinstance(value, decimal.Decimal))


def fraction(value: fractions.Fraction):
    return _sure(isinstance(value, fractions.Fraction))


def identifier(value: uuid.UUID):
    return _sure(isinstance(value, uuid.UUID))


def raw(value: bytes):
    return _sure(type(value) is bytes)


def text_file(value: IO[str]):
    return _sure(type(value.read()) is str)


def binary_file(value: BinaryIO):
    return _sure(type(value.read()) is bytes)


def buffer(value: io.BytesIO):
    return _sure(isinstance(value, io.BytesIO))


def own_class(value: Account):
    return _sure(isinstance(value, Account) and type(value.owner) is str)


def forward(value: "Later"):
    return _sure(isinstance(value, Later))


def generic(value: Crate[int]):
    return _sure(isinstance(value, Crate))


def type_variable(values: List[T], fallback: T) -> T:
    _sure(type(values) is list)
    return fallback


def nested(value: Dict[str, List[Tuple[int, ...]]]):
    pairs = [(name, one) for name, all_of in value.items() for one in all_of]
    return _sure(all(type(name) is str and type(one) is tuple for name, one in pairs))


class Later:
    pass


# Without annotations.


def by_default(zq=3):
    return _sure(type(zq) is int)


def by_name(email):
    return _sure("@" in email)


def by_docstring(zq):
    """Counts.

    Args:
        zq (datetime.timedelta): how long.
    """
    return _sure(isinstance(zq, datetime.timedelta))


def by_attribute(zq):
    zq.append(1)
    return _sure(type(zq) is list)


def by_subscript(zq):
    return _sure(zq["price"] is not None)


def by_comparison(zq):
    return _sure(zq > 5 and type(zq) in (int, float))


def by_call(zq):
    return _sure(callable(zq) and (zq(1), True)[1])


def by_caller(zq):
    return _sure(zq == "quay-17")


def caller() -> Any:
    return by_caller("quay-17")
