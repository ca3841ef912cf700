"""Tests studies: many runs over varied keys, and the store that keeps them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import KEYS

import wordline as wl


def test_each_combination_has_a_row() -> None:
    table = wl.Study(KEYS).run(seeds=2)
    assert (len(table), table.missing, table.axes) == (4, 0, ("ftl.over_provisioning", "ftl.gc.victim.policy"))
    cells = [row.columns["write_amplification"] for row in table]
    assert all(len(cell.values) == 2 and cell.half is not None for cell in cells)
    first, last = cells[0].mean, cells[-1].mean
    assert first is not None and last is not None and first > last, "more spare room, fewer moves"
    assert "greedy" in str(table) and "8 runs" in table.table(80)


def test_a_run_of_a_study_is_the_run_alone() -> None:
    drive = wl.Device("tiny")
    drive.ftl.over_provisioning = 0.2
    drive.ftl.gc.victim.policy = "greedy"
    alone = wl.run(drive, wl.Workload("randwrite-4k-steady", requests=1_000), seed=0)
    row = wl.Study(KEYS).run().rows[0]
    assert row.columns["write_amplification"].values == (alone.write_amplification,)


def test_a_store_keeps_the_runs(tmp_path: Path) -> None:
    study, store = wl.Study(KEYS), tmp_path / "runs"
    before = study.plan(store=store)
    assert before[:4] == (4, 0, 0, None) and before.memory > 2**24 and before.at_once is None and before.further == 0
    first = study.run(store=store)
    assert study.plan(store=store)[:3] == (4, 4, 0)
    assert study.run(store=store).rows == first.rows
    first.write_runs(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["done"] * 4


def test_devices_workloads_and_arrays_are_values() -> None:
    drive = wl.Device("tiny", {"ftl.gc.victim.policy": "fifo"})
    load = wl.Workload("randwrite-4k-steady", requests=1_000, queue_depth=4)
    study = wl.Study({"device": drive, "workload": load, "vary": [{"key": "ftl.over_provisioning", "values": np.linspace(0.2, 0.4, 2)}], "columns": ["write_amplification"]})
    rows = study.run().rows
    assert [row.at for row in rows] == [{"ftl.over_provisioning": 0.2}, {"ftl.over_provisioning": 0.4}]
    alone = wl.run(drive.copy().update({"ftl.over_provisioning": 0.2}), load)
    assert rows[0].columns["write_amplification"].values == (alone.write_amplification,)
    depths = wl.Study({"preset": "tiny", "workload": load, "vary": [{"key": "workload.queue_depth", "values": range(1, 4)}]}).run()
    assert [row.at["workload.queue_depth"] for row in depths] == [1, 2, 3]
    with pytest.raises(wl.ConfigError, match="preset: found it together with a Device, wanted one of them"):
        wl.Study({"preset": "tiny", "device": drive, "workload": load})


def test_what_a_study_cannot_take_of_a_workload_is_refused_by_its_name(tmp_path: Path) -> None:
    for options in ({"queues": 2}, {"namespace": 1}, {"fit": "scale"}, {"times_of": "embedded"}, {"traces": "."}):
        (key,) = options
        given: Any = options
        with pytest.raises(wl.ConfigError, match=f"workload.{key}: found .*, wanted a workload of a study without it; there are bursts, format"):
            wl.Study({"preset": "tiny", "workload": wl.Workload("randread-4k", **given)})
    with pytest.raises(wl.ConfigError, match="workload: found the embedded trace, wanted a name or the file of a trace"):
        wl.Study({"preset": "tiny", "workload": wl.Workload()})
    trace = tmp_path / "trace.csv"
    trace.write_text("t_ps,op,offset,size\n0,read,0,4096\n1,read,4096,4096\n")
    load = wl.Workload(trace=trace, format="csv", requests=1)
    assert wl.Study({"preset": "tiny", "workload": load, "columns": ["host.requests"]}).run().rows[0].columns["host.requests"].mean == 1


def test_a_profile_is_a_workload_and_a_column_is_named_once() -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": wl.Workload("centaur/hm_1", requests=50)}
    assert wl.Study({**keys, "columns": ["host.requests"]}).run().rows[0].columns["host.requests"].mean == 50
    with pytest.raises(wl.ConfigError, match="columns: found `host.iops` twice, wanted each column once"):
        wl.Study({**keys, "columns": ["host.iops", "host.iops"]})


def test_given_requests_are_a_trace_named_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    times = np.arange(600) * 50_000_001
    ops = np.where(np.arange(600) % 7 == 3, wl.Op.FLUSH, np.arange(600) % 6)
    sectors = np.where(ops == wl.Op.FLUSH, 0, np.arange(600) % 100 * 8)
    for pace in ({}, {"queue_depth": 4}):
        load = wl.Workload.given(times, ops, sectors, np.where(ops == wl.Op.FLUSH, 0, 8), **pace)  # type: ignore[arg-type]  # pyright: ignore
        study = wl.Study({"preset": "tiny", "workload": load, "columns": ["host.iops"], "repeat": {"first": 3}})
        store = wl.Store(tmp_path / "runs")
        for task in study.missing(store):
            store.add(wl.carry_out(task))
        alone = wl.run("tiny", load, seed=3)
        assert study.run(store=store).rows[0].columns["host.iops"].values == (alone.host.iops,)
    files = [path.name for path in (tmp_path / "wordline" / "given").iterdir()]
    assert len(files) == 1 and len(files[0]) == 68, "the same requests are one file"
    with pytest.raises(wl.ConfigError, match="ops: found 11, wanted a whole number from 0 to 10"):
        wl.Study({"preset": "tiny", "workload": wl.Workload.given(0, 11, 0, 8)})


def test_a_study_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('title = "One"\npreset = "tiny"\nworkload = { name = "randwrite-4k-steady", requests = 100 }\n')
    study = wl.Study(path)
    assert study.title == "One" and len(study.run()) == 1


def test_rows_are_compared_seed_by_seed() -> None:
    table = wl.Study({**KEYS, "against": {"ftl.gc.victim.policy": "greedy"}}).run(seeds=3)
    greedy, fifo = (row.columns["write_amplification"].values for row in table.rows[:2])
    assert table.rows[1].differences["write_amplification"].values == tuple(b - a for a, b in zip(greedy, fifo, strict=True))
    assert table.rows[0].differences == {} and "difference to greedy" in str(table)


def test_a_study_keeps_to_its_memory() -> None:
    plan = wl.Study({**KEYS, "budget": {"memory": "1GiB"}}).plan()
    assert plan.at_once == 2**30 // plan.memory
    with pytest.raises(wl.ConfigError, match="budget.memory: found 1MiB, wanted at least"):
        wl.Study({**KEYS, "budget": {"memory": "1MiB"}}).run()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"preset": "tinny"}, "preset"),
        ({"columns": ["waf"]}, "columns"),
        ({"vary": [{"key": "ftl.gc.victim.policy", "values": ["greddy"]}]}, "greedy, or another of"),
        ({"repeat": {"seeds": 0}}, "repeat.seeds"),
        ({"sedes": 1}, "sedes"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(change: dict[str, Any], told: str) -> None:
    with pytest.raises(wl.ConfigError, match=told):
        wl.Study({**KEYS, **change}).run()
    with pytest.raises(wl.ConfigError):
        wl.Study(KEYS).run(seeds=0)
