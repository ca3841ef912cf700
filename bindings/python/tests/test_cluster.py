"""Tests studies on a Dask cluster, with real schedulers and workers. Some of them are killed."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import wordline as wl
from wordline import _native, cluster

dask: Any = import_module("distributed")

IS_LONG = bool(os.environ.get("WORDLINE_LONG"))

KEYS: dict[str, Any] = {
    "preset": "tiny",
    "workload": {"name": "randwrite-4k-steady", "requests": 1_000},
    "vary": [{"key": "ftl.gc.victim.policy", "values": ["greedy", "fifo"]}],
    "columns": ["write_amplification", "host.write_latency_us.p99"],
}


OF_THE_MACHINE = {"simulator"}


def files(store: Path) -> dict[str, Any]:
    """All files of a store, without wall-clock times."""
    found: dict[str, Any] = {}
    for path in [*store.glob("runs/*"), *store.glob("windows/*")]:
        value: Any = json.loads(path.read_text())
        # The digest is left out, because it covers wall-clock times.
        value.pop("digest", None)
        if "summary" in value:
            value["summary"] = {key: one for key, one in value["summary"].items() if key not in OF_THE_MACHINE}
        found[f"{path.parent.name}/{path.name}"] = value
    return found


class Processes:
    """A scheduler, and workers that are restarted when they end."""

    def __init__(self, folder: Path, workers: int, *worker_arguments: str, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder, self.environment = folder, {**os.environ, **environment}
        self.scheduler = self.start_scheduler()
        usual = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder), *worker_arguments]
        self.keepers = [self.start("-m", "wordline.cluster", "worker", self.address, *usual) for _ in range(workers)]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen([sys.executable, *arguments], stdout=log, stderr=log, env=self.environment, start_new_session=True)

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self.start("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def end(self) -> None:
        for process in [*self.keepers, self.scheduler]:
            # The process keeps a worker, which takes seconds to end.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


@pytest.fixture
def threads() -> Iterator[Any]:
    """A client of a scheduler and two workers in this process."""
    settings: dict[str, Any] = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(**settings) as inside, dask.Client(inside, set_as_default=False) as client:
        yield client


def test_a_study_on_a_cluster_is_the_local_study(threads: Any, tmp_path: Path) -> None:
    study = wl.Study(KEYS)
    here, there = tmp_path / "here", tmp_path / "there"
    local = study.run(store=here, seeds=4)
    table = study.run(threads, store=there, seeds=4)
    assert table.rows == local.rows and table.missing == 0
    assert files(here) == files(there) and len(files(here)) == 16
    # Finished runs are not repeated; runs of further seeds are executed.
    assert study.run(threads, store=there, seeds=4).rows == local.rows
    assert len(study.run(threads, store=there, seeds=5).rows[0].columns["write_amplification"].values) == 5
    assert study.run(threads).rows == study.run().rows


def test_runs_that_fail_are_kept(threads: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("this is no request\n")
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"replayed": {"trace": "bad.csv"}}, "columns": ["host.iops"]}
    table = wl.Study(keys).run(threads, traces=tmp_path)
    assert "bad.csv" in table.rows[0].errors[0]


def test_a_trace_goes_where_it_is_not(threads: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (f"{128166372000000000 + n * 10_000},proj,0,Write,{n * 4096},4096,100\n" for n in range(100))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_text("".join(lines))
    study = wl.Study({"preset": "tiny", "workload": {"replayed": {"trace": "sub/a.csv"}}, "columns": ["host.iops"]})
    local = study.run(traces=tmp_path, seeds=3)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "node"))

    def nowhere(folder: str, file: str) -> bool:
        return False

    monkeypatch.setattr(cluster, "_is_here", nowhere)
    assert study.run(threads, traces=tmp_path, seeds=3).rows == local.rows
    staged = [path for path in (tmp_path / "node").rglob("*") if path.is_file()]
    assert [path.read_text() for path in staged] == [(tmp_path / "sub" / "a.csv").read_text()]


def test_what_goes_wrong_on_a_worker_is_the_error_of_the_run_alone(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _native.carry_out

    def without_memory(text: str, traces: Any, designs: Any) -> object:
        if 'seed = "2"' in text and '"ftl.gc.victim.policy" = "fifo"' in text:
            raise MemoryError("no memory for it")
        return real(text, traces, designs)

    monkeypatch.setattr(_native, "carry_out", without_memory)
    table = wl.Study(KEYS).run(threads, seeds=4)
    assert table.rows[0].errors == () and len(table.rows[0].columns["write_amplification"].values) == 4
    assert [error.split(" (on")[0] for error in table.rows[1].errors] == ["MemoryError('no memory for it')"]
    assert len(table.rows[1].columns["write_amplification"].values) == 3


def test_a_worker_of_another_version_is_refused(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def older(text: str, traces: object, designs: object) -> None:
        raise wl.ConfigError("the program of a worker: found wordline 0.0.1, wanted wordline 0.2.0, the program of the study")

    with monkeypatch.context() as patched:
        patched.setattr(_native, "carry_out", older)
        with pytest.raises(wl.Error, match="cluster: found the program of a worker: found wordline 0.0.1"):
            wl.Study(KEYS).run(threads)
    work: Any = cluster._work  # pyright: ignore[reportPrivateUsage]
    assert "wanted wordline 0.0.2, the program of the study" in work("wordline 0.0.2", [], {}).sentence


def test_no_scheduler_is_an_error() -> None:
    client = dask.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None, set_as_default=False)
    place = cluster.Cluster(client, patience=0.5)
    client.close()
    client.cluster.close()
    with pytest.raises(wl.Error, match="found no scheduler at .* wanted one that is restarted"):
        list(place([("name", "text", None)]))


def go_on(stopped: int) -> None:
    """Resumes a stopped process, if it still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(stopped, signal.SIGCONT)


def disturbed(processes: Processes, store: Path, runs: int, stop_seconds: float) -> None:
    """Kills a worker by SIGKILL, stops another one for a while, and kills the scheduler. All are restarted."""

    def wait_for(part: float) -> None:
        until = time.monotonic() + 600
        while len(list(store.glob("runs/*.json"))) < part * runs:
            assert time.monotonic() < until, (processes.folder / "log").read_text()[-3000:]
            time.sleep(0.01)

    with dask.Client(processes.address, set_as_default=False, timeout=30) as client:
        client.wait_for_workers(len(processes.keepers), timeout=60)
        workers: list[int] = list(client.run(os.getpid).values())
        wait_for(0.1)
        os.kill(workers[0], signal.SIGKILL)
        os.kill(workers[1], signal.SIGSTOP)
        threading.Timer(stop_seconds, go_on, (workers[1],)).start()
        wait_for(0.5)
        assert len(list(store.glob("runs/*.json"))) < runs, "too late to disturb anything"
    processes.scheduler.kill()
    processes.scheduler.wait()
    processes.scheduler = processes.start_scheduler()


@pytest.mark.parametrize(
    ("workers", "seeds", "requests", "stop_seconds"),
    [(2, 100, 2_000, 1.0), pytest.param(3, 250, 60_000, 60.0, marks=pytest.mark.skipif(not IS_LONG, reason="takes minutes"))],
)
def test_nothing_is_lost_or_doubled(workers: int, seeds: int, requests: int, stop_seconds: float, tmp_path: Path) -> None:
    study = wl.Study({**KEYS, "workload": {"name": "randwrite-4k-steady", "requests": requests}})
    store, tables = tmp_path / "there", list[wl.StudyTable]()
    processes = Processes(tmp_path, workers)
    try:
        client = dask.Client(processes.address, set_as_default=False, timeout=60)
        began = time.monotonic()
        running = threading.Thread(target=lambda: tables.append(study.run(client, store=store, seeds=seeds)))
        running.start()
        disturbed(processes, store, 2 * seeds, stop_seconds)
        running.join(1_200)
        took = time.monotonic() - began
    finally:
        processes.end()
    assert [table.missing for table in tables] == [0]
    began = time.monotonic()
    local = study.run(store=tmp_path / "here", seeds=seeds)
    print(f"{2 * seeds} runs: {took:.1f} s disturbed on {workers} workers, {time.monotonic() - began:.1f} s here")
    assert tables[0].rows == local.rows
    assert files(store) == files(tmp_path / "here") and len(files(store)) == 4 * seeds


KILLER = """
import os, signal
from wordline import _native, cluster

class Killing:
    program = staticmethod(_native.program)

    @staticmethod
    def carry_out(text, traces, designs):
        if 'seed = "3"' in text and '"ftl.gc.victim.policy" = "fifo"' in text:
            os.kill(os.getpid(), signal.SIGKILL)
        return _native.carry_out(text, traces, designs)

cluster._native = Killing
"""


def test_a_run_that_ends_its_workers_is_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "killer.py").write_text(KILLER)
    study = wl.Study(KEYS)
    # A run counts as the cause after one killed worker, so that the test takes seconds.
    failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    processes = Processes(tmp_path, 2, "--preload", str(tmp_path / "killer.py"), **failures)
    try:
        with dask.Client(processes.address, set_as_default=False, timeout=60) as client:
            table = study.run(client, store=tmp_path / "store", seeds=6)
    finally:
        processes.end()
    local = study.run(seeds=6)
    assert [row.errors for row in table] == [(), ("workers that were killed while they did it: 1",)]
    assert table.rows[0] == local.rows[0] and table.missing == 0
    own, other = (one.rows[1].columns["write_amplification"].values for one in (table, local))
    assert own == other[:3] + other[4:]
    # The failed run is only repeated on request.
    assert study.run(store=tmp_path / "store", seeds=6).rows[1].errors == table.rows[1].errors
    assert study.run(store=tmp_path / "store", seeds=6, again=True).rows == local.rows


PROGRAM = Path(__file__).parent.parent.parent.parent / "target" / "debug" / "wordline"


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")
def test_the_program_runs_its_sweeps_on_a_cluster(tmp_path: Path) -> None:
    built = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.strip()
    if built != _native.program():
        pytest.skip(f"the program that is built is another: {built}")
    study = ["sweep", "--preset", "tiny", "--workload", "randwrite-4k-steady", "--requests", "1000", "--vary"]
    study += ["ftl.gc.victim.policy=greedy,fifo", "--seeds", "4", "--column", "write_amplification", "--no-progress"]
    processes = Processes(tmp_path, 1)
    try:
        command = [str(PROGRAM), *study, "--cluster", processes.address, "--python", sys.executable, "--store", str(tmp_path / "there")]
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        processes.end()
    assert done.returncode == 0, done.stderr
    local = subprocess.run([PROGRAM, *study, "--store", tmp_path / "here"], capture_output=True, text=True)
    assert done.stdout == local.stdout and "8 runs" in done.stdout
    assert files(tmp_path / "here") == files(tmp_path / "there")
