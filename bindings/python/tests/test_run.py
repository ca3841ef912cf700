"""Tests that results have the names of the JSON, and that a run releases Python for other threads."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import wordline as wl

LOAD = wl.Workload("mixed-70-30", requests=2_000)


def test_a_result_has_the_names_of_the_json() -> None:
    result = wl.run("tiny", LOAD, seed=1)
    whole: dict[str, Any] = json.loads(result.json())
    assert result.outcome == "complete" and result.host.requests == 2_000
    assert result.host.read_latency_us.p99 == whole["host"]["read_latency_us"]["p99"] and result.host.read_latency_us.p99 is not None

    def is_list(value: object) -> bool:
        return isinstance(value, list)

    def compare(value: Any, of: Any, path: str) -> None:
        if dataclasses.is_dataclass(value):
            assert set(of) <= {field.name for field in dataclasses.fields(value)}, path
            for key, inner in of.items():
                compare(getattr(value, key), inner, f"{path}.{key}")
        elif is_list(of):
            assert len(value) == len(of), path
            for one, other in zip(value, of, strict=True):
                compare(one, other, path)
        else:
            assert value == of, path

    compare(result, whole, "result")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(result, "seed", 2)


def test_equal_seeds_give_equal_digests_as_the_command_line_does() -> None:
    digests = [wl.run("tiny", LOAD, seed=seed).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]
    assert wl.run("tiny", LOAD, seed=1, log=True).digest == digests[0], "a log changes nothing"


def test_a_run_says_what_was_left_out_and_what_it_cannot_answer() -> None:
    result = wl.run("tiny", LOAD, seed=1, warm_up=500, precondition="filled")
    assert result.warm_up is not None and (result.warm_up.requests, result.warm_up.end) == (500, "asked")
    assert wl.run("tiny", LOAD, seed=1, warm_up="none").warm_up is None
    assert result.host.write_latency_us.p999 is None
    reasons = {unknown.metric: unknown.reason for unknown in result.unknown}
    assert "fewer than ten of" in reasons["host.write_latency_us.p999"]
    with pytest.raises(wl.Error, match="warm_up: found 'twice', wanted none, rule"):
        wl.run("tiny", LOAD, warm_up="twice")


def test_without_a_device_a_workload_has_its_usual_one() -> None:
    result = wl.run(workload=wl.Workload(requests=100))
    assert (result.device, result.host.requests) == ("nvme-tlc", 100) and result.workload.kind == "real_trace"


def test_without_a_device_a_snapshot_has_it(tmp_path: Path) -> None:
    snapshot = tmp_path / "tiny.snap"
    wl.run(wl.Device("tiny", {"ftl.over_provisioning": 0.3}), LOAD, save_snapshot=snapshot)
    result = wl.run(workload=LOAD, from_snapshot=snapshot)
    assert result.device == "tiny" and "over_provisioning = 0.3" in result.configuration
    dev = wl.Session(from_snapshot=snapshot)
    dev.submit(0, "read", 0, 8)
    assert dev.finish().device == "tiny"
    with pytest.raises(wl.ConfigError, match="none.snap: cannot open"):
        wl.run(workload=LOAD, from_snapshot=tmp_path / "none.snap")


def test_a_part_to_fill_has_one_form_in_runs_and_studies() -> None:
    keys = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 50}, "columns": ["write_amplification"]}
    assert len({wl.run("tiny", LOAD, precondition=state).digest for state in (0.5, "0.5", "filled:0.5")}) == 1
    values = [wl.Study({**keys, "precondition": state}).run().rows[0].columns for state in (0.5, "0.5", "filled:0.5")]
    assert values[0] == values[1] == values[2]


def test_the_package_has_a_version() -> None:
    result = wl.run("tiny", wl.Workload("randread-4k", requests=20))
    assert wl.__version__ == result.provenance.version


def test_a_device_without_flash_has_no_counts_of_it() -> None:
    result = wl.run("fixed-latency", "randread-4k")
    assert result.flash is None and result.write_amplification is None  # pyright: ignore[reportUnnecessaryComparison]
    assert result.host.reads == result.host.requests > 0


def test_the_metrics_of_a_design_are_there() -> None:
    result = wl.run("cubeftl", wl.Workload("randwrite-4k", requests=200), precondition="empty")
    assert result.others["cubeftl"]


def test_a_result_is_a_table_a_page_and_a_hash(tmp_path: Path) -> None:
    one, other = wl.run("tiny", LOAD, seed=1), wl.run("tiny", LOAD, seed=2)
    assert "Host" in str(one) and one.digest in one.table(80)
    one.report(tmp_path / "out")
    assert "mixed-70-30" in (tmp_path / "out/report.html").read_text()
    assert one != other and len({one, other, one}) == 2


def test_requests_of_ones_own_run_as_a_workload() -> None:
    load = wl.Workload.given([0, 10**9, 2 * 10**9], ["write", "read", "read"], [0, 0, 64], 8, name="three")
    result = wl.run("tiny", load, precondition="empty")
    assert (result.host.writes, result.host.reads, result.workload.name) == (1, 2, "three")


def test_other_threads_go_on_during_a_run() -> None:
    counted, over = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    result = wl.run("tiny", wl.Workload("randwrite-4k-steady", requests=30_000))
    over.set()
    thread.join()
    # If the run did not release Python, the thread would count to about two. Each wait takes a few milliseconds.
    assert counted > 10 * result.simulator.wall_seconds, f"{counted} in {result.simulator.wall_seconds} s"


SOON = 6.0
"""Longest time in seconds that a run may take to end. It takes less than half a second on an idle machine, and the interrupted work
would take much longer than this."""


def interrupt_after(seconds: float) -> list[float]:
    """Sends the signal of Ctrl-C to this process, and records the time."""
    sent: list[float] = []
    # A process that a shell starts in the background ignores this signal by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(seconds, send).start()
    return sent


@pytest.mark.parametrize("log", [False, True])
def test_ctrl_c_ends_a_run_at_once_with_what_it_has(log: bool) -> None:
    sent = interrupt_after(0.3)
    with pytest.raises(wl.Interrupted) as stopped:
        wl.run("tiny", wl.Workload("randwrite-4k-steady", requests=5_000_000), warm_up="none", log=log)
    assert time.monotonic() - sent[0] < SOON
    assert isinstance(stopped.value, KeyboardInterrupt)
    result = stopped.value.result
    assert result is not None and result.outcome == "interrupted" and result.host.requests > 0
    assert (len(result.log) == result.host.requests) if result.log is not None else not log


def test_ctrl_c_ends_preconditioning() -> None:
    sent = interrupt_after(0.1)
    with pytest.raises(wl.Interrupted) as stopped:
        wl.run("nvme-tlc", "randwrite-4k-steady", precondition="workload:1000")
    assert stopped.value.result is None and time.monotonic() - sent[0] < SOON


def test_numpy_is_imported_when_first_needed() -> None:
    script = "import sys, wordline as wl; wl.run('tiny', wl.Workload('randread-4k', requests=10)); assert 'numpy' not in sys.modules; wl.Op"
    subprocess.run([sys.executable, "-c", script], check=True)
