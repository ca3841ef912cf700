"""Checks of the arguments of public calls. An invalid argument raises a `ConfigError` that names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Never, TypeVar

from ._errors import ConfigError

T = TypeVar("T")

U64 = 2**64 - 1

_LONGEST = 4_095
# Maximum length of a text: the longest path of Linux (PATH_MAX minus its last byte). No name is longer.

_SHOWN = 120
"""Maximum number of characters of a value in messages. Chosen: a line."""


def shown(value: object) -> str:
    """Formats a value for messages, in one line of limited length."""
    try:
        whole = " ".join(repr(value).split())
    except Exception:  # `repr` of a value may raise anything
        return f"a value of the type {kind_of(value)} without text"
    return whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]} ... ({len(whole)} characters)"


def kind_of(value: object) -> str:
    """Name of the type of a value, with its module unless it is built in."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def refuse(what: str, found: str, wanted: str, *, of: str = "") -> Never:
    """Raises the error for an invalid argument or key. In the message, `of` comes before `what`."""
    raise ConfigError(f"{of}{what}: found {found}, wanted {wanted}", [(None, None, what, found, wanted)])


def whole(name: str, value: object, least: int, most: int = U64) -> int:
    """Checks an integer. True and False are rejected."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        refuse(name, shown(value), f"a whole number from {least} to {most}")
    return number


def columns(value: object) -> int:
    """Checks a number of text columns of a terminal. The largest is the limit of Unix (`struct winsize`)."""
    return whole("columns", value, 1, 65_535)


def number(name: str, value: object, least: float, most: float) -> float:
    """Checks a number. NaN is rejected."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
        refuse(name, shown(value), f"a number from {least:g} to {most:g}")
    return float(found)


def plain(value: object) -> object:
    """Converts a NumPy scalar, or a member of an integer enumeration, to a Python value. Returns anything else
    unchanged.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        item: Any = value
        return item.item()  # pyright: ignore[reportUnknownMemberType]
    return value


def flag(name: str, value: object) -> bool:
    """Checks a bool."""
    if not isinstance(value, bool):
        refuse(name, shown(value), "True or False")
    return value


def text(name: str, value: object, wanted: str = "text in quotes") -> str:
    """Checks a text. It must not be empty, must not be longer than any name, and must be valid UTF-8."""
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
    """Checks that a value is one of some texts."""
    known = list(among)
    if not isinstance(value, str) or value not in known:
        refuse(name, shown(value), f"one of {', '.join(known)}")
    return value


def path(name: str, value: object) -> str:
    """Checks a path: text, or an object such as `pathlib.Path`."""
    try:
        found = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST or "\0" in found or not _is_encoded(os.fsencode, found):
        refuse(name, shown(value), "a path")
    return found


def is_of(value: object, kinds: Any) -> bool:
    """Whether a value is an instance of `kinds`. Type checkers do not use the result."""
    return isinstance(value, kinds)


def instance(name: str, value: object, kind: type[T], wanted: str) -> T:
    """Checks an instance of a class."""
    if not isinstance(value, kind):
        refuse(name, shown(value), wanted)
    return value


def texts(name: str, value: object, wanted: str) -> list[str]:
    """Checks a list of texts."""
    if is_of(value, str | bytes | Mapping) or not isinstance(value, Collection):
        refuse(name, shown(value), wanted)
    found: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    for n, one in enumerate(found):
        text(f"{name}[{n}]", one)
    return found


def mapping(name: str, value: object, wanted: str) -> Mapping[Any, Any]:
    """Checks a mapping, such as a dict."""
    if not isinstance(value, Mapping):
        refuse(name, shown(value), wanted)
    return value  # pyright: ignore[reportUnknownVariableType]
