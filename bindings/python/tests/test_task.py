"""Tests the runs of a study as tasks, which other programs carry out."""

import asyncio
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import wordline as wl

KEYS: dict[str, Any] = {
    "preset": "tiny",
    "workload": {"name": "randwrite-4k", "requests": 200},
    "vary": [
        {"key": "ftl.over_provisioning", "values": [0.2, 0.3, 0.4]},
        {"key": "ftl.gc.victim.policy", "values": ["greedy", "fifo"]},
    ],
    "columns": ["write_amplification", "host.iops"],
}


class Fewest(wl.Design, name="fewest-valid"):
    """Victims with the fewest valid pages."""

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return view.fewest(1)[0]


def files(store: Path) -> dict[str, str]:
    """The runs of a store by name, each with its digest, which does not depend on the machine or the time."""
    rows = wl.Study(KEYS).run(store=store, seeds=2).runs.to_polars()
    return dict(zip(rows["run"].to_list(), rows["simulated_seconds"].to_list(), strict=True))


def test_other_processes_carry_out_the_runs(tmp_path: Path) -> None:
    study, store = wl.Study(KEYS), wl.Store(tmp_path / "runs")
    tasks = study.missing(store, seeds=2)
    assert len(tasks) == 12 and len({task.name for task in tasks}) == 12 and tasks[0] not in store
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert all(store.add(result) for result in pool.map(wl.carry_out, tasks))
    assert len(store) == 12 and tasks[0] in store and study.missing(store, seeds=2) == []
    assert study.run(store=store, seeds=2).rows == study.run(seeds=2).rows
    assert files(tmp_path / "runs") == files(tmp_path / "alone")


def test_parts_have_each_run_once_and_merge_to_the_whole(tmp_path: Path) -> None:
    study, whole = wl.Study(KEYS), wl.Store(tmp_path / "whole")
    for part in range(1, 4):
        store = wl.Store(tmp_path / str(part))
        for task in study.missing(store, seeds=2, shard=(part, 3)):
            store.add(wl.carry_out(task))
            assert task not in study.missing(store, seeds=2, shard=(part, 3)), "parts do not move as runs finish"
        assert len(store) == 4 and whole.merge(store) == 4 and whole.merge(tmp_path / str(part)) == 0
    assert len(whole) == 12
    assert study.run(store=whole, seeds=2).rows == study.run(seeds=2).rows


def test_seeds_that_precision_requires_are_missing_later(tmp_path: Path) -> None:
    until = {"column": "host.iops", "half_width": "0.001 %", "at_most": 4}
    study, store = wl.Study({**KEYS, "repeat": {"seeds": 2, "until": until}}), wl.Store(tmp_path / "runs")
    rounds: list[int] = []
    while tasks := study.missing(store):
        rounds.append(len(tasks))
        for task in tasks:
            store.add(wl.carry_out(task))
    assert rounds[0] == 12 and len(rounds) == 3
    assert study.run(store=store).rows == study.run().rows and study.plan(store=store).runs == len(store)


def test_tasks_have_their_designs(tmp_path: Path) -> None:
    varied = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 200}, "vary": [{"key": "design", "values": [None, Fewest()]}]}
    study, store = wl.Study(varied), wl.Store(tmp_path)
    for task in pickle.loads(pickle.dumps(study.missing(store))):
        assert store.add(pickle.loads(pickle.dumps(wl.carry_out(task))))
    assert study.run(store=store).rows == study.run().rows
    task = study.missing(tmp_path / "other")[1]
    with pytest.raises(wl.Error, match="the design of a worker: found none, wanted the one of the study"):
        wl.carry_out(wl.Task(task.name, task.text))


def test_a_failed_run_is_replaced_by_a_good_one_only(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    file = tmp_path / "traces" / "a.csv"
    line = "128166372003061629,host,0,Write,0,4096,100\n"
    file.write_text(line + "no request\n")
    study = wl.Study({"preset": "tiny", "workload": {"replayed": {"trace": "a.csv"}}})
    [task] = study.missing(traces=tmp_path / "traces")
    assert task.trace is not None and task.trace[1] == "a.csv"
    store, bad = wl.Store(tmp_path / "runs"), wl.carry_out(task)
    assert "a.csv" in bad.record and store.add(bad) and not store.add(bad)
    file.write_text(line)
    with pytest.raises(wl.Error, match="of a worker: found .*, wanted .*, as where the study is"):
        wl.carry_out(task)
    [good] = [wl.carry_out(one) for one in study.missing(traces=tmp_path / "traces")]
    assert good.name != task.name, "a run of other bytes is another run"


def test_what_is_no_task_or_result_is_refused(tmp_path: Path) -> None:
    study, store = wl.Study(KEYS), wl.Store(tmp_path / "runs")
    one, other = (wl.carry_out(task) for task in study.missing(store)[:2])
    with pytest.raises(wl.Error, match=f"wanted the record of run {one.name}"):
        store.add(wl.TaskResult(one.name, other.record, other.windows))
    with pytest.raises(wl.Error, match="windows that its digest does not fit"):
        store.add(wl.TaskResult(one.name, one.record, "[]"))
    with pytest.raises(wl.Error, match="content that its digest does not fit"):
        store.add(wl.TaskResult(one.name, one.record.replace("done", "gone"), one.windows))
    assert len(store) == 0
    given: Any = one
    with pytest.raises(wl.ConfigError, match="task: found .*, wanted a task of Study.missing"):
        wl.carry_out(given)
    text = study.missing(store)[0].text
    changed = wl.Task("", text.replace('program = "', 'program = "x'))
    with pytest.raises(wl.Error, match="the program of a worker"):
        wl.carry_out(changed)
    with pytest.raises(wl.ConfigError, match=r"shard: found part 3 of 2, wanted a part from 1 to"):
        study.missing(store, shard=(3, 2))
    wrong: Any = "1/2"
    with pytest.raises(wl.ConfigError, match=r"shard: found '1/2', wanted two numbers, such as \(2, 8\)"):
        study.missing(store, shard=wrong)
    with pytest.raises(wl.Error, match="store .*: found nothing"):
        store.merge(tmp_path / "none")


ENDLESS = wl.Workload("randread-4k", requests=2_000_000_000, queue_depth=4)
"""A workload that takes hours to simulate."""


def test_a_handle_shows_a_run_and_cancels_it() -> None:
    handle = wl.Handle()
    assert handle.progress == wl.Progress("", 0, None) and "not begun" in repr(handle)
    with ThreadPoolExecutor() as pool:
        future = pool.submit(wl.run, "tiny", ENDLESS, precondition="empty", handle=handle)
        seen: list[int] = []
        while len(seen) < 3:
            if handle.progress.phase == "running" and handle.progress.done not in seen:
                seen.append(handle.progress.done)
        assert seen == sorted(seen) and handle.progress.total == 2_000_000_000
        fraction = handle.progress.fraction
        assert fraction is not None and 0 < fraction < 1 and not handle.is_cancelled
        handle.cancel()
        stopped = future.exception(timeout=60)
    assert isinstance(stopped, wl.Cancelled) and stopped.result is not None
    assert stopped.result.outcome == "interrupted" and stopped.result.host.requests >= seen[-1]
    with pytest.raises(wl.Cancelled):
        wl.run("tiny", ENDLESS, precondition="empty", handle=handle)


def test_a_handle_of_a_run_that_ends_changes_nothing() -> None:
    load, handle = wl.Workload("randwrite-4k", requests=500), wl.Handle()
    assert wl.run("tiny", load, handle=handle).digest == wl.run("tiny", load).digest
    assert handle.progress == wl.Progress("running", 500, 500) and handle.progress.fraction == 1
    wrong: Any = 3
    with pytest.raises(wl.ConfigError, match="handle: found 3, wanted a wl.Handle"):
        wl.run("tiny", load, handle=wrong)


def test_a_handle_of_a_study_counts_runs_and_cancels(tmp_path: Path) -> None:
    handle, study = wl.Handle(), wl.Study(KEYS)
    study.run(seeds=2, handle=handle)
    assert handle.progress == wl.Progress("runs", 12, 12)
    vary = [{"key": "workload.named.requests", "values": [100, 2_000_000_000]}]
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randread-4k"}, "precondition": "empty", "vary": vary}
    handle = wl.Handle()

    async def main() -> None:
        running = asyncio.create_task(wl.Study(keys).run_async(store=tmp_path, threads=1, handle=handle))
        while handle.progress.done < 1:
            await asyncio.sleep(0.01)
        handle.cancel()
        with pytest.raises(wl.Cancelled):
            await running

    asyncio.run(main())
    assert len(wl.Store(tmp_path)) == 1


def test_a_handle_cancels_a_task() -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randread-4k", "requests": 2_000_000_000}, "precondition": "empty"}
    handle = wl.Handle()
    handle.cancel()
    with pytest.raises(wl.Cancelled):
        wl.carry_out(wl.Study(keys).missing()[0], handle=handle)


def test_an_observer_gets_every_request_once() -> None:
    load, batches = wl.Workload("mixed-70-30", requests=3_000), list[wl.Log]()
    observed = wl.run("tiny", load, warm_up="none", observe=batches.append, batch=500)
    logged = wl.run("tiny", load, warm_up="none", log=True)
    assert observed.digest == logged.digest and observed.log is None and logged.log is not None
    assert [len(batch) for batch in batches] == [500] * 6
    import polars

    assert polars.concat([batch.to_polars() for batch in batches]).equals(logged.log.to_polars())


def test_an_exception_of_an_observer_ends_the_run() -> None:
    def observe(batch: wl.Log) -> None:
        raise ValueError(f"{len(batch)} are enough")

    with pytest.raises(ValueError, match="64 are enough"):
        wl.run("tiny", ENDLESS, precondition="empty", observe=observe, batch=64)
    handle = wl.Handle()
    with pytest.raises(wl.Cancelled):
        wl.run("tiny", ENDLESS, precondition="empty", handle=handle, observe=lambda _: handle.cancel(), batch=64)
    with pytest.raises(wl.ConfigError, match="log: found True beside observe"):
        wl.run("tiny", ENDLESS, log=True, observe=observe)
    with pytest.raises(wl.ConfigError, match="observe: found 3, wanted a function"):
        wl.run("tiny", ENDLESS, observe=3)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(wl.ConfigError, match="until: found .* beside observe"):
        wl.run("tiny", ENDLESS, precondition="empty", until="p99:2%", observe=observe)
