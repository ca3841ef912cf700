"""Tables of keys. Attributes are TOML keys, which are checked when they are set."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, overload

from ._arguments import text

Get = TypeVar("Get")
Set = TypeVar("Set")
Both = TypeVar("Both")
T = TypeVar("T", bound="Table")

Value: TypeAlias = "str | int | float | bool | list[Value] | tuple[Value, ...] | Mapping[str, Value]"
"""A value of a key."""


class Keys(Protocol):
    """The keys of a device, as its tables read and set them."""

    def get(self, key: str) -> Any:
        """Returns the value of a key, or its default. Returns ``None`` if the key has no value."""

    def update(self, settings: Mapping[str, Any]) -> object:
        """Sets several keys at once."""


class Table:
    """A table of keys of a device. Attributes are keys. Setting a key checks all keys of the device together."""

    __slots__ = ("_device", "_path")
    _device: Keys
    _path: str

    def __init__(self, device: Keys, path: str) -> None:
        object.__setattr__(self, "_device", device)
        object.__setattr__(self, "_path", path)

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _get(self, key: str) -> Any:
        return self._device.get(self._at(key))

    def _read(self, key: Key[Get, Any]) -> Get:
        return self._get(key.name) if key.inner is None else key.inner(self._device, self._at(key.name))

    def _set(self, key: str, value: Any) -> None:
        self._device.update({self._at(key): value})

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError as absent:
            raise AttributeError(str(absent.args[0])) from None

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(getattr(type(self), key, None), Key | property):
            object.__setattr__(self, key, value)
        else:
            self._set(key, value)

    def __getitem__(self, key: str) -> Any:
        text("key", key)
        value = self._get(key)
        if value is None:
            raise KeyError(f"{self._at(key)}: no such key is set")
        return Table(self._device, self._at(key)) if isinstance(value, dict) else value

    def __setitem__(self, key: str, value: Value) -> None:
        self._set(text("key", key), value)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def keys(self) -> KeysView[str]:
        """Names of the keys, as those of a dict."""
        return self.to_dict().keys()

    def items(self) -> ItemsView[str, Any]:
        """The keys and their values, as those of a dict."""
        return self.to_dict().items()

    def _bare(self) -> dict[str, Any]:
        """The table as a value, which another key can be set to."""
        return self.to_dict()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(key for key in self if key.isidentifier())})

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == (other.to_dict() if isinstance(other, Table) else other)

    __hash__ = None  # type: ignore[assignment]  # a table can change

    def __repr__(self) -> str:
        return repr(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All keys that are set or have a default."""
        return self._device.get(self._path) or {}


class Tables(Generic[T]):
    """A list of tables, such as the pools of a device."""

    __slots__ = ("_device", "_kind", "_path")

    def __init__(self, device: Keys, path: str, kind: type[T]) -> None:
        self._device, self._path, self._kind = device, path, kind

    def __len__(self) -> int:
        return len(self._device.get(self._path) or ())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return [self._kind(self._device, f"{self._path}.{n}") for n in places]
        return self._kind(self._device, f"{self._path}.{places}")

    def __iter__(self) -> Iterator[T]:
        return iter(self[:])

    def _bare(self) -> list[Any]:
        """The tables as a value, which another key can be set to."""
        return self._device.get(self._path) or []

    def __repr__(self) -> str:
        return repr(self._bare())


class _Docstring:
    """The docstring of a key: the text below its assignment, where editors look for it. Python does not keep it, so it
    is read from the source when somebody asks.
    """

    def __get__(self, key: Key[Any, Any] | None, kind: object) -> str | None:
        if key is None:
            return "A key of a table: an attribute with the type of its value, and the type of what it is set to."
        return _docstrings(key.owner.__module__).get((key.owner.__name__, key.name))


@cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """The docstrings of the assignments of a module's classes, by class and name. Empty without a source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    found: dict[tuple[str, str], str] = {}
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for pair in pairwise(owner.body):
            match pair:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[owner.name, name] = text
                case _:
                    pass
    return found


class Key(Generic[Get, Set]):
    __slots__ = ("inner", "name", "owner")
    __doc__ = _Docstring()  # pyright: ignore[reportAssignmentType]
    inner: Callable[[Keys, str], Get] | None
    name: str
    owner: type[Table]

    def __init__(self, inner: Callable[[Keys, str], Get] | None = None) -> None:
        """``inner`` makes the table, or the list of tables, that the key holds."""
        self.inner = inner

    def __set_name__(self, owner: type[Table], name: str) -> None:
        self.owner, self.name = owner, name

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: Table, owner: type) -> Get: ...
    def __get__(self, table: Table | None, owner: type) -> Self | Get:
        return self if table is None else table._read(self)  # pyright: ignore[reportPrivateUsage]

    def __set__(self, table: Table, value: Set) -> None:
        table._set(self.name, value)  # pyright: ignore[reportPrivateUsage]


Plain: TypeAlias = Key[Both, Both]
"""A key that is set to what it is read as."""


def table_of(kind: type[T]) -> Key[T, Mapping[str, Any]]:
    """A key that holds a table."""
    return Key(kind)


def tables_of(kind: type[T]) -> Key[Tables[T], Sequence[Mapping[str, Any]]]:
    """A key that holds a list of tables."""
    return Key(lambda device, path: Tables(device, path, kind))
