"""Tests pickling of devices, workloads, studies and results, which sends them to other processes."""

import copy
import dataclasses
import json
import pickle
import re
from pathlib import Path
from typing import Any, TypeVar

import pytest

import wordline as wl
from wordline import _native

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


def test_a_result_that_was_pickled_is_whole(tmp_path: Path) -> None:
    result = wl.run("tiny", wl.Workload("randwrite-4k", requests=500), log=True)
    for same in (again(again(result)), copy.copy(result), copy.deepcopy(result)):
        assert same == result and hash(same) == hash(result)
        assert same.host.write_latency_us.p99 == result.host.write_latency_us.p99 and same.windows == result.windows
        assert same.json() == result.json() and same.table() == result.table()
        assert same.log is not None and result.log is not None and same.log.to_polars().equals(result.log.to_polars())
        assert same.chart("latency-tail").spec == result.chart("latency-tail").spec
        assert wl.compare(same, result).table() == wl.compare(result, result).table()
    pages: list[str] = []
    for n, one in enumerate((result, again(result))):
        one.report(tmp_path / str(n))
        pages.append((tmp_path / str(n) / "report.html").read_text())
    assert pages[0] == pages[1]


def test_a_log_that_was_pickled_is_the_log() -> None:
    log = wl.run("tiny", wl.Workload("mixed-70-30", requests=3_000), log=True).log
    assert log is not None and log.to_polars()["operation"].n_unique() == 2
    assert again(log).to_polars().equals(log.to_polars()) and copy.deepcopy(log) is log
    with pytest.raises(wl.ConfigError, match="log: found columns that do not fit together"):
        _native.unpack_log([[b"", b"", b"", b"", b"", b"\x00"]])


# A device of each type, and some with metrics of their own: pools, arrays, designs.
DEVICES = ("tiny", "fixed-latency", "centaur", "ft-passd", "pblk", "raid5-tiny", "bench-zns")


@pytest.mark.parametrize("preset", DEVICES)
def test_a_result_is_loaded_as_it_was(preset: str, tmp_path: Path) -> None:
    result = wl.run(preset, wl.Workload("mixed-70-30", requests=300), precondition="empty")
    file = tmp_path / "run.json"
    file.write_text(result.json())
    for loaded in (wl.load(file), wl.load(str(file)), wl.load(result.json()), wl.load(json.loads(result.json()))):
        assert loaded == result and loaded.json() == result.json()
        # Metrics that only some devices have may be in another order.
        tables = [sorted(re.findall(r"[^\s,]+", one.table(60_000))) for one in (loaded, result)]
        assert tables[0] == tables[1] and (preset != "tiny" or loaded.table() == result.table())
        assert wl.compare(loaded).charts == wl.compare(result).charts
    result.report(tmp_path / "report")
    assert wl.load(tmp_path / "report" / "summary.json").digest == result.digest


def test_metrics_of_a_design_in_python_are_loaded() -> None:
    class Counting(wl.Design, name="counting"):
        chosen: wl.Counter = wl.counter("victims", unit="blocks")

        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            self.chosen += 1
            return view.fewest(1)[0]

    result = wl.run("tiny", wl.Workload("randwrite-4k-steady", requests=500), design=Counting())
    assert wl.load(result.json()).others == result.others and result.others["counting"]["chosen"] > 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "source: found missing field `provenance`"),
        ("[]", "source: found a list, wanted the JSON of one run"),
        ("{", "source: found EOF while parsing"),
        ('{"provenance": {"schema": 1}}', "found layout 1, wanted the JSON of one run, as `wordline run --json` writes it"),
        ('{"provenance": {"schema": 2, "version": "0.2.0", "command": []}}', "missing field"),
        ("no-such-file.json", "no-such-file.json: cannot read"),
    ],
)
def test_what_is_no_result_is_refused(text: str, told: str) -> None:
    with pytest.raises(wl.ConfigError, match=told):
        wl.load(text)
    with pytest.raises(wl.ConfigError, match="a dict that is no JSON"):
        wl.load({"a": object()})


def test_a_result_is_a_dict_and_cannot_be_changed() -> None:
    result = wl.run("tiny", wl.Workload("randwrite-4k", requests=300), log=True)
    values = dataclasses.asdict(result)
    assert values["host"]["requests"] == result.host.requests and values["log"] is result.log
    assert json.loads(json.dumps({**values, "log": None}))["digest"] == result.digest
    with pytest.raises(wl.ConfigError, match="Result: found values for .*, wanted a result of `run` or `load`"):
        dataclasses.replace(result, seed=3)
    with pytest.raises(wl.ConfigError, match="Result: found no run"):
        wl.Result()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.seed = 3  # type: ignore[misc]  # pyright: ignore
