"""Tables of keys. Attributes are TOML keys, which are checked when they are set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

from ._arguments import text

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
        if isinstance(getattr(type(self), key, None), property):
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


T = TypeVar("T", bound=Table)


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

    def __repr__(self) -> str:
        return repr(self._device.get(self._path) or [])
