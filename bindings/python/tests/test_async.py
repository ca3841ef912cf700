"""Tests runs, sessions and studies in asyncio tasks. Other tasks must continue meanwhile, and the work of a cancelled
task must have ended.
"""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import wordline as wl
from wordline import _native

ENDLESS = wl.Workload("randread-4k", requests=2_000_000_000, queue_depth=4)
"""A workload that takes hours to simulate."""

LOOK = 4_096
"""Requests between two checks of a run (`CHECK_INTERVAL` in crates/run/src/running)."""


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "wordline"]


def test_a_task_gives_what_the_call_gives() -> None:
    load = wl.Workload("mixed-70-30", requests=1_000)

    async def both() -> list[wl.Result]:
        return await asyncio.gather(*(wl.run_async("tiny", load, seed=seed, log=True) for seed in (1, 2)))

    results = asyncio.run(both())
    assert [result.digest for result in results] == [wl.run("tiny", load, seed=seed).digest for seed in (1, 2)]
    assert results[0].log is not None and len(results[0].log) > 0 and workers() == []


async def cancelled(work: Coroutine[Any, Any, object], seconds: float) -> float:
    """Cancels a task after a while. Returns the time that the cancellation took."""
    task = asyncio.create_task(work)
    await asyncio.sleep(seconds)
    assert not task.done()
    began = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.perf_counter() - began


def test_a_run_that_is_cancelled_ends_and_its_thread_too() -> None:
    async def main() -> float:
        ticks, ended = 0, asyncio.Event()

        async def tick() -> None:
            nonlocal ticks
            while not ended.is_set():
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        seconds = await cancelled(wl.run_async("tiny", ENDLESS, precondition="empty"), 0.3)
        assert workers() == [], "the thread has ended when the cancellation is over"
        ended.set()
        await ticking
        assert ticks > 5, "other tasks go on beside a run"
        return seconds

    assert asyncio.run(main()) < 5, "a run looks many times in a second, also on a busy machine"


def test_a_session_stops_within_some_thousands_of_requests_and_can_go_on() -> None:
    dev = wl.Session("tiny", ENDLESS, precondition="empty")

    async def main() -> None:
        await cancelled(dev.advance_async(), 0)

    asyncio.run(main())
    completed = dev.standing.completed
    # The limit includes the requests before the event loop could cancel the task; they take a fraction of a second.
    assert completed <= 200 * LOOK and workers() == []
    time.sleep(0.05)
    assert dev.standing.completed == completed
    assert dev.advance(completions=10) is True and dev.standing.completed == completed + 10


def test_a_stop_ends_a_run_at_its_next_look() -> None:
    stop, dev = _native.Stop(), wl.Session("tiny", ENDLESS, precondition="empty")
    stop.set()
    assert dev._native.advance(None, None, False, stop) is False  # pyright: ignore[reportPrivateUsage]
    assert dev.standing.completed <= LOOK + 4, "as many as are outstanding may be answered at once"


def test_a_study_that_is_cancelled_keeps_what_was_done(tmp_path: Path) -> None:
    vary = [{"key": "workload.named.requests", "values": [100, 2_000_000_000]}]
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randread-4k"}, "precondition": "empty", "vary": vary, "columns": ["host.iops"]}
    study, store = wl.Study(keys), tmp_path / "runs"
    assert asyncio.run(cancelled(study.run_async(store=store, threads=1), 1.0)) < 5
    assert workers() == [] and study.plan(store=store).done == 1


def test_a_timeout_and_an_exception_are_those_of_asyncio() -> None:
    async def late() -> None:
        async with asyncio.timeout(0.2):
            await wl.run_async("tiny", ENDLESS, precondition="empty")

    with pytest.raises(TimeoutError):
        asyncio.run(late())

    class Stopping(wl.Design, name="stopping"):
        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(wl.run_async("tiny", wl.Workload("randwrite-4k-steady", requests=2_000), design=Stopping()))
    with pytest.raises(wl.ConfigError, match="seed: found -1"):
        asyncio.run(wl.run_async("tiny", ENDLESS, seed=-1))
    assert workers() == []


PROGRAM = """
import asyncio
import signal
import wordline as wl

# A shell leaves the signal ignored for what it runs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    print("begun", flush=True)
    await wl.run_async("tiny", wl.Workload("randread-4k", requests=2_000_000_000), precondition="empty")

asyncio.run(main())
"""


def test_ctrl_c_ends_a_program_with_a_run_in_a_task() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "begun\n"
        time.sleep(0.3)
        program.send_signal(signal.SIGINT)
        try:
            _, said = program.communicate(timeout=30)
        finally:
            program.kill()
    assert program.returncode in (1, 130, -signal.SIGINT) and said.rstrip().endswith("KeyboardInterrupt"), said
