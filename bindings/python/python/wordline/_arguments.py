"""Arguments of public calls: each is checked here, and one that will not do is a `ConfigError` that names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Never, TypeVar

from ._errors import ConfigError

T = TypeVar("T")

U64 = 2**64 - 1

_LONGEST = 4_095
# Characters of a text: as long as a path of Linux may be (PATH_MAX less its last byte), which is longer than any name.

_SHOWN = 120
"""Characters of a value that messages show. Chosen: a line."""


def shown(value: object) -> str:
    """A value as messages show it, in one line that is not too long."""
    try:
        whole = " ".join(repr(value).split())
    except Exception:  # of any class that a value may have
        return f"a value of the type {kind_of(value)} without text"
    return whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]} ... ({len(whole)} characters)"


def kind_of(value: object) -> str:
    """The type of a value with its module, but for those of Python itself."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def refuse(what: str, found: str, wanted: str, *, of: str = "") -> Never:
    """Refuses what was found of an argument, a key, or `of` something that messages name before it."""
    raise ConfigError(f"{of}{what}: found {found}, wanted {wanted}", [(None, None, what, found, wanted)])


def whole(name: str, value: object, least: int, most: int = U64) -> int:
    """A whole number; True and False are none."""
    number = _plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        refuse(name, shown(value), f"a whole number from {least} to {most}")
    return number


def number(name: str, value: object, least: float, most: float) -> float:
    """A number; NaN is none."""
    found = _plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
        refuse(name, shown(value), f"a number from {least:g} to {most:g}")
    return float(found)


def _plain(value: object) -> object:
    """A scalar of NumPy as Python has it, and a member of an enumeration of numbers; anything else as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        item: Any = value
        return item.item()  # pyright: ignore[reportUnknownMemberType]
    return value


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        refuse(name, shown(value), "True or False")
    return value


def text(name: str, value: object, wanted: str = "text in quotes") -> str:
    """A text that is neither empty nor longer than any name, in characters that UTF-8 has."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not _is_encoded(str.encode, value):
        refuse(name, shown(value), wanted)
    return value


def _is_encoded(encode: Callable[[str], bytes], value: str) -> bool:
    try:
        encode(value)
    except UnicodeEncodeError:
        return False
    return True


def one_of(name: str, value: object, among: Iterable[str]) -> str:
    """One of some texts."""
    known = list(among)
    if not isinstance(value, str) or value not in known:
        refuse(name, shown(value), f"one of {', '.join(known)}")
    return value


def path(name: str, value: object) -> str:
    """A path: text, or an object such as `pathlib.Path`."""
    try:
        found = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST or "\0" in found or not _is_encoded(os.fsencode, found):
        refuse(name, shown(value), "a path")
    return found


def is_of(value: object, kinds: Any) -> bool:
    """Whether a value is of a type, whatever its annotation says."""
    return isinstance(value, kinds)


def instance(name: str, value: object, kind: type[T], wanted: str) -> T:
    """An object of a class."""
    if not isinstance(value, kind):
        refuse(name, shown(value), wanted)
    return value


def texts(name: str, value: object, wanted: str) -> list[str]:
    """A list of texts."""
    if is_of(value, str | bytes | Mapping) or not isinstance(value, Collection):
        refuse(name, shown(value), wanted)
    found: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    for n, one in enumerate(found):
        text(f"{name}[{n}]", one)
    return found


def mapping(name: str, value: object, wanted: str) -> Mapping[Any, Any]:
    """A mapping, such as a dict."""
    if not isinstance(value, Mapping):
        refuse(name, shown(value), wanted)
    return value  # pyright: ignore[reportUnknownVariableType]
