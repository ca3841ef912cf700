"""Tests the types of keys, which mypy and pyright check in this file. Lines marked with `ignore` are errors for both: a mark that one of
them does not need is an error too.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Callable
from typing import Literal, assert_type

import pytest

import wordline as wl
from wordline import _keys


def test_keys_are_read_as_their_types() -> None:
    drive = wl.Device("centaur")
    assert_type(drive.ftl.over_provisioning, float)
    assert_type(drive.capacity, str | None)
    assert_type(drive.designs, list[Literal["centaur", "cubeftl", "ressd", "slc-mlc-hybrid"]])
    assert_type(drive.buffer.mode, Literal["write-back", "write-through", "off"])
    assert_type(drive.part, _keys.Part)
    assert_type(drive.pools, wl.Tables[_keys.Pool])
    assert_type(drive.pools[0].part.endurance, int)
    assert type(drive.pools[0].part) is type(drive.part) is _keys.Part
    assert isinstance(drive.ftl.over_provisioning, float) and isinstance(drive.pools, wl.Tables)


def test_keys_are_set_to_their_types() -> None:
    drive = wl.Device("nvme-tlc")
    drive.ftl.over_provisioning = 0.28
    drive.buffer.size = "64MiB"
    drive.buffer.flush_interval = 0
    drive.ftl.gc.victim = {"policy": "d-choices", "choices": 4}
    drive.part = "tlc-512g"
    assert (drive.ftl.over_provisioning, drive.buffer.size, drive.ftl.gc.victim.policy) == (0.28, "64MiB", "d-choices")


def share(drive: wl.Device) -> None:
    drive.ftl.over_provisioning = "much"  # type: ignore[assignment]


def size(drive: wl.Device) -> None:
    drive.buffer.size = 4096  # type: ignore[assignment]


def mode(drive: wl.Device) -> None:
    drive.buffer.mode = "write-bak"  # type: ignore[assignment]


def table(drive: wl.Device) -> None:
    drive.ftl = "large"  # type: ignore[assignment]


def tables(drive: wl.Device) -> None:
    drive.pools = {}  # type: ignore[assignment]


@pytest.mark.parametrize(("wrong", "found"), [(share, "much"), (size, "4096"), (mode, "write-bak"), (table, "large"), (tables, "pools")])
def test_keys_refuse_other_types(wrong: Callable[[wl.Device], None], found: str) -> None:
    drive = wl.Device("tiny")
    before = drive.toml
    with pytest.raises(wl.ConfigError, match=found):
        wrong(drive)
    assert drive.toml == before
