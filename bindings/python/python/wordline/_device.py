"""Devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self, TypeAlias

from . import _native
from ._arguments import is_of, mapping, path, refuse, shown, text
from ._keys import DeviceKeys

Described: TypeAlias = "Device | str | PathLike[str] | Mapping[str, Any]"
"""A device, the name of a preset, the path of a configuration file, or a table of keys."""


class Device(DeviceKeys):
    """The description of a device: a preset, a file or a table of keys, with settings on top. The whole description
    is validated.

    >>> drive = Device("nvme-tlc")
    >>> drive.ftl.over_provisioning = 0.28
    >>> drive.ftl.over_provisioning
    0.28

    ``described`` is a text, a path or a dict. A text is the name of a preset, or the path of a file that ends in
    ``.toml``. A ``Path`` is a configuration file. A dict has the keys of such a file, and may name a ``preset``.
    ``settings`` override these keys; their names are such as ``"ftl.over_provisioning"``.

    The description is not the simulated device. Any number of runs and sessions can use one description.
    """

    __slots__ = ("native",)
    native: _native.Device

    def __init__(self, described: Described, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(self, "")
        self._become(_described(described))
        if settings is not None:
            self.update(settings)

    @staticmethod
    def _made(native: _native.Device) -> Device:
        """The device of a description that is checked."""
        device = Device.__new__(Device)
        DeviceKeys.__init__(device, device, "")
        device._become(native)
        return device

    def _become(self, native: _native.Device) -> None:
        object.__setattr__(self, "native", native)

    @classmethod
    def of(cls, described: Described) -> Device:
        """Returns `described` itself if it is a device, otherwise a device made from it."""
        return described if isinstance(described, Device) else cls(described)

    def get(self, key: str) -> Any:
        """Returns the value of a key such as ``"ftl.gc.victim.policy"``, or its default. Items of lists count from 0,
        as in ``"pools.0.part.name"``. Returns ``None`` if the key has no value. The empty key returns all keys.
        """
        if not is_of(key, str):
            refuse("key", shown(key), "text such as ftl.over_provisioning")
        return self.native.get(key) if key else self.native.table()

    def update(self, settings: Mapping[str, Any]) -> Self:
        """Sets several keys at once. Only their combination is validated."""
        given = mapping("settings", settings, "a dict of keys, such as {\"ftl.over_provisioning\": 0.28}")
        self._become(self.native.with_keys(given))
        return self

    def copy(self) -> Device:
        """Returns an independent copy."""
        return Device._made(self.native)

    @property
    def name(self) -> str:
        """Name of the device in results."""
        return self.native.name

    @property
    def description(self) -> str:
        """Description in one line; may be empty."""
        return self.native.description

    @property
    def capacity_bytes(self) -> int:
        """Logical capacity in bytes."""
        return self.native.capacity

    @property
    def toml(self) -> str:
        """The whole configuration as one TOML document. Loading it gives the same device."""
        return self.native.toml

    def explain(self) -> str:
        """Values that follow from the configuration, each with its formula, as text."""
        return self.native.explain()

    def __copy__(self) -> Device:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Device:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self.toml)

    def __repr__(self) -> str:
        return f"<wordline.Device {self.name}: {self.description}>" if self.description else f"<wordline.Device {self.name}>"


def _described(described: Described) -> _native.Device:
    if isinstance(described, Device):
        return described.native
    if isinstance(described, str):
        return _native.Device.preset(text("device", described, "the name of a preset, or the path of a file that ends in .toml"))
    if isinstance(described, Mapping):
        named = described.get("name", described.get("preset"))
        return _native.Device.of_keys(named if isinstance(named, str) else "device", described)
    if not is_of(described, PathLike):
        refuse("device", shown(described), "a Device, the name of a preset, a path or a dict of keys")
    return _native.Device.file(path("device", described))


def _restored(name: str, text: str) -> Device:
    return Device._made(_native.Device.of_toml(name, text))  # pyright: ignore[reportPrivateUsage]


def presets() -> list[dict[str, Any]]:
    """All presets, each with description, source, part and capacity."""
    found: list[dict[str, Any]] = json.loads(_native.presets())
    return found
