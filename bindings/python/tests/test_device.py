"""Devices: attributes are keys, and every mistake gives one message."""

import copy
import inspect
import pickle
import pydoc
from pathlib import Path
from typing import Any

import pytest

import wordline as wl
from wordline._table import Key


def test_an_attribute_is_a_key_of_the_configuration() -> None:
    drive = wl.Device("nvme-tlc")
    drive.ftl.over_provisioning = 0.28
    drive.ftl.gc.victim = {"policy": "d-choices", "choices": 4}
    drive.part.endurance = 500
    assert drive.ftl.over_provisioning == drive["ftl"]["over_provisioning"] == 0.28
    assert (drive.ftl.gc.victim.policy, drive.ftl.gc.victim.choices) == ("d-choices", 4)
    assert drive.part.timing.to_dict() == wl.Device("nvme-tlc").part.timing, "a part keeps the times that it had"
    assert 'over_provisioning = 0.28' in drive.toml
    assert wl.Device("nvme-tlc").ftl.over_provisioning != 0.28, "a preset stays as it is"


def test_a_preset_a_file_and_a_dict_describe_the_same_device(tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    file.write_text('preset = "tiny"\n[ftl]\nover_provisioning = 0.3\n')
    keys = {"preset": "tiny", "ftl": {"over_provisioning": 0.3}}
    of_settings = wl.Device("tiny", {"ftl.over_provisioning": 0.3})
    tables = [device.to_dict() for device in (of_settings, wl.Device(file), wl.Device(str(file)), wl.Device(keys))]
    assert all(table == tables[0] for table in tables)
    assert wl.Device(keys).name == "tiny"


def test_keys_that_only_fit_together_are_set_together() -> None:
    drive = wl.Device("tiny")
    settings = {"ftl.gc.start_below_free_blocks": 4, "ftl.gc.stop_at_free_blocks": 4}
    assert drive.update(settings).ftl.gc.stop_at_free_blocks == 4


def test_a_refused_setting_leaves_the_device_as_it_was() -> None:
    drive = wl.Device("tiny")
    before = drive.toml
    with pytest.raises(wl.ConfigError) as refused:
        drive.ftl.over_provisioning = 1.5
    (finding,) = refused.value.findings
    assert (finding.key, finding.found) == ("ftl.over_provisioning", "1.5")
    assert drive.toml == before


def test_copies_change_by_themselves() -> None:
    drive = wl.Device("tiny", {"ftl.over_provisioning": 0.3})
    for copied in (drive.copy(), copy.deepcopy(drive), pickle.loads(pickle.dumps(drive))):
        assert copied == drive and copied.name == drive.name
        copied.ftl.over_provisioning = 0.4
        assert copied != drive and drive.ftl.over_provisioning == 0.3


def test_tables_and_lists_can_be_looked_through() -> None:
    drive = wl.Device("centaur")
    assert len(drive.pools) == 1 and [pool.part.name for pool in drive.pools] == [drive.pools[-1].part.name]
    assert "ftl" in drive and "pool" not in drive and set(drive.ftl) == set(drive.ftl.to_dict())
    assert {"ftl", "part", "update"} <= set(dir(drive)) and "over_provisioning" in dir(drive.ftl)
    with pytest.raises(AttributeError, match="ftl.over_provisoning: no such key is set"):
        getattr(drive.ftl, "over_provisoning")


def test_a_table_is_a_value_and_goes_along_as_a_dict_does() -> None:
    one, other = wl.Device("tiny"), wl.Device("tiny", {"ftl.gc.victim": {"policy": "d-choices", "choices": 4}})
    gc = other.ftl.gc
    assert dict(gc) == gc.to_dict() and dict(gc.items()) == {**gc} and len(gc) == len(gc.keys())
    for value in (gc, {**gc}, {"victim": gc.victim}):
        one = wl.Device("tiny")
        one.update({"ftl.gc": value})
        assert one.ftl.gc.victim == other.ftl.gc.victim
    pools = wl.Device("centaur").pools
    assert wl.Device("centaur", {"pools": pools}).pools[0].part == pools[0].part


def test_every_key_of_every_preset_is_an_attribute_that_says_what_it_is() -> None:
    def walk(table: wl.Table, path: str) -> int:
        seen = 0
        for key in table:
            attribute: Any = getattr(type(table), key, None)
            assert isinstance(attribute, Key) and attribute.__doc__, f"{path}{key}"
            value = getattr(table, key)
            seen += 1 + (walk(value, f"{path}{key}.") if isinstance(value, wl.Table) and key != "cells" else 0)
        return seen

    own = [preset["name"] for preset in wl.presets() if not preset["design"]]
    assert sum(walk(wl.Device(name), f"{name}: ") for name in own) > 1_000


def test_help_has_the_meaning_of_each_key() -> None:
    text = pydoc.plain(pydoc.render_doc(type(wl.Device("tiny").ftl)))
    assert "over_provisioning\n |      Fraction of the physical capacity" in text
    # A key that a table has of another one, and one that it says more about.
    assert inspect.getdoc(wl.Device.ftl) == "The flash translation layer."
    assert "`fixed-latency`: Capacity" in (inspect.getdoc(wl.Device.capacity) or "")
    assert (inspect.getdoc(Key) or "").startswith("A key of a table")
