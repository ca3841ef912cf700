"""Source text of a design, on which the result of a run with the design depends."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any, Never

from ._arguments import refuse
from ._state import digest_of, is_array


def source_of(cls: type, base: type, methods: Iterable[str]) -> str:
    """Returns the source text on which a design depends. It contains the class and its bases up to ``base``. It also
    contains the functions, classes and plain values of their module that the methods use, directly or through one
    another. Other modules are represented by names only.

    Raises `ConfigError` if a text cannot be read. Also raises it if a method uses variables of an enclosing scope,
    because equal texts may then behave differently.
    """
    wanted: list[Any] = [one for one in cls.__mro__ if one not in base.__mro__]
    texts: list[str] = []
    seen: set[int] = set()
    while wanted:
        one = wanted.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        texts.append(_text(cls, one))
        for function in _functions(one):
            _check(cls, function)
            for name in sorted(_names(function.__code__)):
                value = function.__globals__.get(name)
                if isinstance(value, FunctionType | type) and value.__module__ == cls.__module__:
                    wanted.append(value)
                elif isinstance(value, ModuleType | FunctionType | type):
                    texts.append(f"{name} of {getattr(value, '__module__', value.__name__)}")
                else:
                    texts.extend(_value(cls, name, value))
            texts.extend(_value(cls, f"defaults of {function.__name__}", (function.__defaults__, function.__kwdefaults__)))
        if isinstance(one, type):
            for name, value in sorted(vars(one).items()):
                texts.extend([] if name.startswith("_") else _value(cls, name, value))
    return "\n".join(texts)


def _value(cls: type, name: str, value: Any) -> list[str]:
    """Text of a plain value or of an array. Empty for other values."""
    if is_array(value):
        return [f"{name} = array, SHA-256 {digest_of(name, value)}"]
    if not _is_plain(value):
        return []
    text = repr(sorted(map(repr, value)) if type(value) in (set, frozenset) else value)
    if " at 0x" in text:
        _refuse(cls, f"{name}, whose text is another one in each program", "numbers and text")
    return [f"{name} = {text}"]


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | bytes | tuple | list | dict | set | frozenset)


def _functions(one: Any) -> list[FunctionType]:
    if isinstance(one, FunctionType):
        return [one]
    values: list[Any] = list(one.__dict__.values())
    functions: list[Any] = [value.fget if isinstance(value, property) else getattr(value, "__func__", value) for value in values]
    return [function for function in functions if isinstance(function, FunctionType)]


def _names(code: Any) -> set[str]:
    """Global names that a function and its nested functions use."""
    inner = (constant for constant in code.co_consts if hasattr(constant, "co_names"))
    return set(code.co_names).union(*(_names(one) for one in inner))


def _text(cls: type, one: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(one))
    except (OSError, TypeError):
        _refuse(cls, f"no source of {one.__qualname__}", "a class in a file or a notebook")


def _check(cls: type, function: FunctionType) -> None:
    around = [name for name in function.__code__.co_freevars if name != "__class__"]
    if around:
        found = f"{function.__name__}, which uses {', '.join(around)} from the enclosing scope"
        _refuse(cls, found, "fields, or names of its module")


def _refuse(cls: type, found: str, wanted: str) -> Never:
    refuse(f"the design {cls.__name__} in a study", found, wanted)
