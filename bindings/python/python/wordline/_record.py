"""Records: frozen dataclasses that JSON is read into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

NO_FLASH: Any = None
"""Default of a field that devices without flash leave out. For all others it is there, and scripts need not ask, so
``None`` is not among the types of the field.
"""


def read(kind: Callable[..., T], values: dict[str, Any]) -> T:
    """Returns the record that the JSON has. A field that is left out or null has its default."""
    return kind(**{name: make(value) if make else value for name, make in _fields(kind) if (value := values.get(name)) is not None})


def items_of(kind: type, name: str) -> Any:
    """The kind of records of which a field is a tuple."""
    return get_args(get_type_hints(kind)[name])[0]


@cache
def _fields(kind: Any) -> list[tuple[str, Callable[[Any], Any] | None]]:
    """The fields of a kind of record, each with the function that converts its value from JSON."""
    types = get_type_hints(kind)
    return [(one.name, _conversion(types[one.name])) for one in fields(kind)]


def _conversion(of: Any) -> Callable[[Any], Any] | None:
    """The function that converts a value of JSON to a type. ``None`` for the types of JSON itself."""
    if isinstance(of, type) and is_dataclass(of):
        return partial(read, of)
    if get_origin(of) is tuple:
        item = _conversion(get_args(of)[0])
        return (lambda values: tuple(map(item, values))) if item else tuple
    return _conversion(get_args(of)[0]) if isinstance(of, UnionType) else None
