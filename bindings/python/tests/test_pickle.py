"""Tests pickling of devices, workloads, studies and results, which sends them to other processes."""

import pickle
from pathlib import Path
from typing import Any, TypeVar

import pytest

import wordline as wl

T = TypeVar("T")


def again(value: T) -> T:
    return pickle.loads(pickle.dumps(value))  # type: ignore[no-any-return]


def test_what_describes_a_run_can_be_pickled() -> None:
    drive = wl.Device("tiny", {"ftl.over_provisioning": 0.4})
    load = wl.Workload("mixed-70-30", requests=500, queue_depth=4)
    assert again(drive) == drive and repr(again(load)) == repr(load)
    assert wl.run(again(drive), again(load), seed=3).digest == wl.run(drive, load, seed=3).digest
    given = wl.Workload.given([0, 1_000], ["read", "write"], [0, 8], 8, name="two")
    assert wl.run("tiny", again(given)).digest == wl.run("tiny", given).digest


def test_a_study_can_be_pickled(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 100}, "columns": ["host.iops"]}
    file = tmp_path / "study.toml"
    file.write_text('title = "One"\npreset = "tiny"\nworkload = { name = "randwrite-4k", requests = 100 }\ncolumns = ["host.iops"]\n')
    for study in (wl.Study(keys), wl.Study(file)):
        assert again(study).run().rows == study.run().rows
    assert again(wl.Study(file)).title == "One"


def test_a_result_that_was_pickled_has_its_numbers_and_its_table() -> None:
    result = wl.run("tiny", wl.Workload("randwrite-4k", requests=500), log=True)
    same = again(again(result))
    assert same == result and hash(same) == hash(result) and same.log is None
    assert same.host.write_latency_us.p99 == result.host.write_latency_us.p99 and same.windows == result.windows
    assert same.json() == result.json() and same.table() == result.table()
    with pytest.raises(wl.Error, match="a result that was pickled"):
        same.chart("latency-tail")
