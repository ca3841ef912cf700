"""The state of a design, which is plain data. Each device has its own copy. Snapshots, pickles and the names of runs
contain all of it.

A state is written as JSON in canonical form, so that each value has exactly one text. JSON values are written as they
are. A tuple, a dict, bytes, and a NumPy array or number are written as an object with one key, which names the type.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# This module accepts values of any type, and tells them apart.

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from enum import Enum
from types import BuiltinFunctionType, ModuleType
from typing import Any, Literal

from ._arguments import kind_of, refuse, shown
from ._errors import ConfigError

MOST_DEEP = 80
"""Maximum nesting of lists, tuples and dicts, as in a configuration."""

_MOST_BITS = 8_192
# Chosen: Python converts integers of up to 4,300 digits (14,284 bits) to text.

_SHOWN = 60
"""Maximum length of a list, a dict or an array in the text of a design. A longer one is represented by its digest.
Chosen: the text is a cell in tables of studies.
"""

_PARTS_SHOWN = 4
# Number of parts of a path that messages show. Chosen: enough to locate the value.

_WANTED = "None, True or False, a number, text, bytes, a list, a tuple, a dict or a NumPy array"


def written(place: str, state: dict[str, Any]) -> str:
    """Text of a state. Raises `ConfigError` for anything that is not plain data, with the field and the type."""
    walk = _Walk()
    return json.dumps({key: walk.coded(f"{place}.{key}", value) for key, value in state.items()}, separators=(",", ":"))


def read(text: str) -> dict[str, Any]:
    """Restores a state from its text. All objects are new."""
    state: dict[str, Any] = json.loads(text)
    return {key: _decoded(value) for key, value in state.items()}


def copied(place: str, value: Any) -> Any:
    """Returns a deep copy of a value."""
    return _decoded(_Walk().coded(place, value))


def told(value: Any) -> str:
    """Formats a value for the text of a design: as Python writes it, or as type, size and digest."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    try:
        digest = digest_of("", value)[:8]
    except ConfigError:  # a value that is not plain data is rejected where it is used
        return shown(value)
    text = repr(value)
    if not is_array(value) and len(text) <= _SHOWN:
        return text
    size = "x".join(map(str, value.shape)) if is_array(value) else str(len(value))
    return f"<{f'array of {value.dtype}' if is_array(value) else type(value).__name__} {size} {digest}>"


def digest_of(place: str, value: Any) -> str:
    """SHA-256 of a value."""
    return hashlib.sha256(json.dumps(_Walk().coded(place, value)).encode()).hexdigest()


def is_like(value: Any, usual: Any) -> bool:
    """Whether a value can replace `usual`. It must have the same type; an array must have the same kind of numbers
    and the same number of dimensions.
    """
    if type(value) is not type(usual):
        return False
    return not is_array(value) or (value.dtype.kind, value.ndim) == (usual.dtype.kind, usual.ndim)


_CONSTANTS: tuple[type, ...] = (bool, int, float, complex, str, bytes, range, Enum, re.Pattern, ModuleType, BuiltinFunctionType, type)


def is_constant(value: Any) -> bool:
    """Whether a value is immutable, so that all devices can share it. Immutable values are plain data without lists,
    dicts and arrays, definitions of a module, and objects that Python binds, such as functions and properties.
    """
    if isinstance(value, tuple | frozenset):
        return all(is_constant(one) for one in value)
    if value is None or isinstance(value, _CONSTANTS) or hasattr(type(value), "__get__"):
        return True
    return type(value).__module__ in ("typing", "numpy") and not is_array(value)


def is_shared(value: Any) -> bool:
    """Whether a value is mutable, so that a change would affect all objects that share it."""
    return isinstance(value, list | dict | set | bytearray) or is_array(value)


def is_array(value: Any) -> bool:
    """Whether a value is a NumPy array. If NumPy is not imported, it is not."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


class _Walk:
    """Traversal of a state. Each mutable object must occur only once."""

    def __init__(self) -> None:
        self.met: dict[int, str] = {}
        self.around: list[int] = []

    def coded(self, place: str, value: Any) -> Any:
        """Converts a value to JSON."""
        kind = type(value)
        if kind is int and value.bit_length() > _MOST_BITS:
            refuse(place, f"a whole number of {value.bit_length()} bits", f"at most {_MOST_BITS} bits")
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode()}
        if kind in (list, tuple, dict):
            return self.within(place, value)
        if kind.__module__ == "numpy":
            return self.of_numpy(place, value)
        wanted = "a dict or a list: the order of a set is another one in each process" if kind in (set, frozenset) else _WANTED
        refuse(place, f"an object of the type {kind_of(value)}", wanted)

    def meet(self, place: str, value: Any) -> None:
        """Checks that a mutable object occurs only once in the state."""
        before = self.met.setdefault(id(value), place)
        if before != place:
            refuse(place, f"the {type(value).__name__} that is {before}, too", "one of its own: a snapshot has two")

    def within(self, place: str, value: Any) -> Any:
        kind = type(value)
        if id(value) in self.around:
            refuse(place, f"a {kind.__name__} that holds itself", "values that end")
        if len(self.around) == MOST_DEEP:
            refuse(place, "one more list, tuple or dict", f"at most {MOST_DEEP} within each other")
        if kind is not tuple:
            self.meet(place, value)
        self.around.append(id(value))
        if kind is dict:
            pairs: Any = value.items()
            keys = f"the keys of {place}"
            made: Any = {"dict": [[self.coded(keys, key), self.coded(self.below(place, shown(key)), one)] for key, one in pairs]}
        else:
            made = [self.coded(self.below(place, str(n)), one) for n, one in enumerate(value)]
        self.around.pop()
        return {"tuple": made} if kind is tuple else made

    def below(self, place: str, part: str) -> str:
        """Path of a nested value. Messages show only its first parts."""
        if len(self.around) <= _PARTS_SHOWN:
            return f"{place}[{part}]"
        return place if place.endswith(" ...") else f"{place} ..."

    def of_numpy(self, place: str, value: Any) -> Any:
        import numpy as np

        if isinstance(value, np.generic) and not value.dtype.hasobject and value.dtype.itemsize:
            return {"number": [np.lib.format.dtype_to_descr(value.dtype), base64.b64encode(value.tobytes()).decode()]}
        if type(value) is not np.ndarray or value.dtype.hasobject or not value.dtype.itemsize:
            found = f"{kind_of(value)}{' of objects' if isinstance(value, np.ndarray) else ''}"
            refuse(place, f"an object of the type {found}", _WANTED)
        memory: Any = value
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        self.meet(place, memory)
        order: Literal["C", "F"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        descr = np.lib.format.dtype_to_descr(value.dtype)
        return {"array": [descr, list(value.shape), order, base64.b64encode(value.tobytes(order)).decode()]}


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()  # pyright: ignore[reportUnknownVariableType]
    made: Any = content
    match kind:
        case "bytes":
            return base64.b64decode(made)
        case "tuple":
            return tuple(_decoded(one) for one in made)
        case "dict":
            return {_decoded(key): _decoded(one) for key, one in made}
        case _:
            return _of_numpy(*made)


def _of_numpy(descr: Any, *content: Any) -> Any:
    import numpy as np

    # JSON has lists where the description of a record type has tuples.
    fields = [tuple(field) for field in descr] if isinstance(descr, list) else descr
    dtype, memory = np.lib.format.descr_to_dtype(fields), base64.b64decode(content[-1])
    if len(content) == 1:
        return np.frombuffer(memory, dtype)[0]
    shape, order, _ = content
    return np.ndarray(shape, dtype, memory, order=order).copy(order)
