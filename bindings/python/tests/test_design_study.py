"""Studies with designs in Python."""

import json
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import wordline as wl

LEAST = 0.5


class Fewest(wl.Design, name="fewest"):
    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return view.fewest(1)[0]


class Young(wl.Design, name="young"):
    weight: float = 1.0

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return max(view.oldest(16), key=lambda block: (view.pages - block.valid) * (block.age + LEAST) ** self.weight)


class Broken(wl.Design, name="broken"):
    after: int = 3
    calls: wl.Counter = wl.counter("calls")

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.calls += 1
        if self.calls > self.after:
            raise KeyError("no such block")
        return view.oldest(1)[0]


class Astray(wl.Design, name="astray"):
    def victim(self, view: wl.View, random: wl.Random) -> Any:
        return 3


def keys(*designs: wl.Design | None, **more: Any) -> dict[str, Any]:
    vary = [{"key": "design", "values": list(designs)}] if designs else []
    load = {"name": "randwrite-4k-steady", "requests": 2_000}
    return {"preset": "tiny", "workload": load, "vary": vary, "columns": ["write_amplification"], **more}


def measured(row: wl.Row) -> tuple[float, ...]:
    return row.columns["write_amplification"].values


def test_columns_are_counters_of_a_design_too() -> None:
    columns = {"columns": ["broken.calls", "write_amplification"]}
    for study in (wl.Study(keys(**columns), design=Broken(after=10**6)), wl.Study(keys(Broken(after=10**6), **columns))):
        assert (pickle.loads(pickle.dumps(study)).run().rows[0].columns["broken.calls"].mean or 0) > 0
    with pytest.raises(wl.ConfigError, match="columns: found `broken.calls`"):
        wl.Study(keys(**columns), design=Fewest())


def test_designs_are_varied_as_keys_are() -> None:
    study = wl.Study(keys(None, Fewest(), Young(weight=0.5), against={"design": None}))
    table = study.run(seeds=2)
    assert [row.at["design"] for row in table] == ["none", "Fewest()", "Young(weight=0.5)"]
    none, fewest, young = table.rows
    assert measured(none) == measured(fewest) != measured(young) and len(measured(young)) == 2
    alone = wl.run("tiny", wl.Workload("randwrite-4k-steady", requests=2_000), seed=1, design=Young(weight=0.5))
    assert measured(young)[1] == alone.write_amplification
    assert fewest.differences["write_amplification"].values == (0.0, 0.0)


def test_a_design_of_all_runs_goes_beside_varied_keys() -> None:
    spare: dict[str, Any] = {"vary": [{"key": "ftl.over_provisioning", "values": [0.3, 0.5]}]}
    study = wl.Study(keys(**spare), design=Young())
    rows = study.run().rows
    assert measured(rows[0]) != measured(wl.Study(keys(**spare)).run().rows[0])
    assert [measured(row) for row in pickle.loads(pickle.dumps(study)).run()] == [measured(row) for row in rows]


def test_a_store_has_a_run_for_each_design_and_its_settings(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    first = wl.Study(keys(None, Young())).run(store=store, seeds=2)
    assert wl.Study(keys(None, Young(weight=1.0))).plan(store=store, seeds=2)[:2] == (4, 4)
    # The store is interrupted (a run is missing), then extended by a setting, a design and a seed.
    lost = next(path for path in store.glob("runs/*") if "Young" in path.read_text())
    kept = {path.name: path.stat().st_mtime_ns for path in store.glob("runs/*") if path != lost}
    lost.unlink()
    assert wl.Study(keys(None, Young())).plan(store=store, seeds=2)[:2] == (4, 3)
    longer = wl.Study(keys(None, Young(), Young(weight=2.0), Fewest()))
    assert longer.plan(store=store, seeds=3)[:2] == (12, 3)
    table = longer.run(store=store, seeds=3)
    assert table.missing == 0 and [measured(row)[:2] for row in table.rows[:2]] == [measured(row) for row in first]
    assert len(list(store.glob("runs/*"))) == 12
    assert {name: (store / "runs" / name).stat().st_mtime_ns for name in kept} == kept


def one() -> wl.Design:
    class Twice(wl.Design, name="twice"):
        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            return view.fewest(1)[0]

    return Twice()


def other() -> wl.Design:
    class Twice(wl.Design, name="twice"):
        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            return view.oldest(1)[0]

    return Twice()


def test_another_source_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "runs"
    wl.Study(keys(), design=one()).run(store=store)
    assert [wl.Study(keys(), design=design).plan(store=store).done for design in (one(), other(), None)] == [1, 0, 0]
    wl.Study(keys(), design=Young()).run(store=store)
    assert wl.Study(keys(), design=Young()).plan(store=store).done == 1
    # The values of the module that the design uses are part of its text.
    monkeypatch.setattr(sys.modules[__name__], "LEAST", 0.75)
    monkeypatch.setattr(Young, "_source", None)
    assert wl.Study(keys(), design=Young()).plan(store=store).done == 0


def test_a_design_that_raises_is_a_failed_run(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    study = wl.Study(keys(Fewest(), Broken(), Astray()))
    table = study.run(store=store, seeds=2)
    fewest, broken, astray = table.rows
    assert len(measured(fewest)) == 2 and fewest.errors == () and table.missing == 0
    sentence = "the design broken raised KeyError: 'no such block', in line "
    assert len(broken.errors) == 2 and broken.errors[0].startswith(sentence)
    assert broken.errors[0].endswith("of test_design_study.py, victim")
    assert "the design astray made an invalid decision for `victim`: found 3, wanted a block of the view" in astray.errors[0]
    records = [json.loads(path.read_text()) for path in store.glob("runs/*")]
    assert sorted(record["state"] for record in records) == ["done"] * 2 + ["failed"] * 4
    assert study.plan(store=store, seeds=2)[:3] == (6, 6, 4)
    assert study.run(store=store, seeds=2, again=True).rows[1].errors == broken.errors


def test_a_search_goes_over_designs() -> None:
    found = wl.Study(keys(Fewest(), Young(weight=3.0))).search(minimise=["write_amplification"], trials=4, at_once=2)
    assert {trial.at["design"] for trial in found.trials} <= {"Fewest()", "Young(weight=3.0)"}


def around(answer: int) -> wl.Design:
    class Around(wl.Design, name="around"):
        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            return view.oldest(16)[answer]

    return Around()


def test_what_studies_refuse_of_designs() -> None:
    with pytest.raises(wl.ConfigError, match="found victim, which uses answer from the enclosing scope, wanted fields"):
        wl.Study(keys(), design=around(1))
    made: dict[str, Any] = {"wl": wl, "__name__": "nowhere"}
    exec("class Made(wl.Design, name='made'):\n    def victim(self, view, random): return None", made)
    with pytest.raises(wl.ConfigError, match="the design Made in a study: found no source of Made"):
        wl.Study(keys(), design=made["Made"]())
    with pytest.raises(wl.ConfigError, match=r"Young\(weight=1.0\) twice, wanted each once"):
        wl.Study(keys(Young(), Young()))
    with pytest.raises(wl.ConfigError, match="found it together with the varied key `design`"):
        wl.Study(keys(Young()), design=Fewest())
    with pytest.raises(wl.ConfigError, match="found 'young', wanted a list of designs, and None for none"):
        wl.Study(keys(*["young"]))  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(wl.ConfigError, match="design: found it with a device of the type fixed-latency, wanted an SSD"):
        wl.Study({**keys(Fewest()), "preset": "fixed-latency"}).run()


def test_a_cluster_does_runs_with_designs(tmp_path: Path) -> None:
    dask: Any = import_module("distributed")
    settings: dict[str, Any] = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    study = wl.Study(keys(None, Young(), Broken()))
    with dask.LocalCluster(**settings) as inside, dask.Client(inside, set_as_default=False) as client:
        table = study.run(client, store=tmp_path / "there", seeds=2)
    local = study.run(store=tmp_path / "here", seeds=2)
    assert table.rows == local.rows and table.missing == 0
    names = [sorted(path.name for path in (tmp_path / place).glob("runs/*")) for place in ("here", "there")]
    assert names[0] == names[1] and len(names[0]) == 6


def test_a_design_goes_to_a_process_that_does_not_have_its_source(tmp_path: Path) -> None:
    """Sends the whole class, as Dask does for definitions in a notebook."""
    cloudpickle: Any = import_module("cloudpickle")
    study = wl.Study(keys(), design=Young(weight=2.0))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        (tmp_path / "study").write_bytes(cloudpickle.dumps(study))
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    program = "import pickle, sys; print(pickle.load(open('study', 'rb')).run(store='runs').rows[0].columns['write_amplification'].values)"
    told = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert told.strip() == str(measured(study.run().rows[0]))
    assert study.plan(store=tmp_path / "runs").done == 1, "its runs have the names that they have here"
