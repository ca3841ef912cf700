"""Tests workloads whose requests a generator in Python makes during the run."""

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wordline as wl
from wordline._workload import Chunk

COUNT = 3_000


def requests() -> tuple[Any, Any, Any]:
    """Times with ties, operations, and sectors of some requests."""
    random = np.random.default_rng(1)
    times = np.cumsum(random.integers(0, 3, COUNT)) * 20_000_000
    return times, random.integers(0, 2, COUNT), random.integers(0, 1_500, COUNT) * 8


def chunks_of(size: int) -> wl.Workload:
    return wl.Workload.drawn(lambda: slices(size))


def slices(size: int) -> Iterator[Chunk]:
    times, ops, sectors = requests()
    for first in range(0, COUNT, size):
        part = slice(first, first + size)
        yield times[part], ops[part], sectors[part], 8


def few() -> Iterator[Chunk]:
    yield 0, "write", [0, 8], 8
    yield 1_000_000, ["read", "flush"], [0, 0], [8, 0]


@pytest.mark.parametrize("pace", [{}, {"queue_depth": 8}, {"queue_depth": 4, "think_time": "50us"}])
def test_the_result_does_not_depend_on_chunks(pace: dict[str, Any]) -> None:
    times, ops, sectors = requests()
    given = wl.run("tiny", wl.Workload.given(times, ops, sectors, 8, **pace), seed=3, log=True)
    for size in (1, 700, COUNT):
        drawn = wl.run("tiny", wl.Workload.drawn(lambda size=size: slices(size), **pace), seed=3, log=True)  # type: ignore[misc]
        assert drawn.digest == given.digest and drawn.host == given.host, size
        assert drawn.log is not None and given.log is not None and drawn.log.to_polars().equals(given.log.to_polars())
    assert given.host.requests == COUNT


def test_chunks_are_made_when_they_are_needed() -> None:
    made, seen = list[int](), list[int]()

    def source() -> Iterator[Chunk]:
        for n in range(100):
            made.append(n)
            yield 0, "read", np.arange(64) * 8, 8

    def observe(batch: wl.Log) -> None:
        seen.append(len(made))

    result = wl.run("tiny", wl.Workload.drawn(source, queue_depth=4), observe=observe)
    assert result.host.requests == 6_400 and len(made) == 100
    assert seen[:3] == [1, 2, 3], "the device takes a chunk before the next is made"


def test_a_drawn_workload_can_be_used_again_and_elsewhere() -> None:
    load: wl.Workload = pickle.loads(pickle.dumps(wl.Workload.drawn(few)))
    first, second = wl.run("tiny", load), asyncio.run(wl.run_async("tiny", load))
    assert first.digest == second.digest and (first.host.writes, first.host.reads, first.host.flushes) == (2, 1, 1)
    assert repr(load) == "Workload(drawn from few)" and first.workload.kind == "given"

    class Oldest(wl.Design, name="oldest"):
        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            return view.oldest(1)[0]

    assert wl.run("tiny", load, design=Oldest()).host.writes == 2


def test_what_is_wrong_with_a_generator_ends_the_run() -> None:
    def source() -> Iterator[Chunk]:
        yield 0, "read", 0, 8
        raise ValueError("no more")

    def narrow() -> Iterator[Any]:
        yield 0, "read", 0

    def beyond() -> Iterator[Chunk]:
        yield 0, "read", 2**40, 8

    with pytest.raises(ValueError, match="no more"):
        wl.run("tiny", wl.Workload.drawn(source))
    with pytest.raises(wl.ConfigError, match=r"chunk 0: found \(0, 'read', 0\), wanted four columns"):
        wl.run("tiny", wl.Workload.drawn(narrow))
    with pytest.raises(wl.Error, match="found"):
        wl.run("tiny", wl.Workload.drawn(beyond, fit="refuse"))
    with pytest.raises(wl.ConfigError, match="^requests: found 9, wanted none: the source makes as many requests as there are"):
        wl.Workload.drawn(few, requests=9)
    with pytest.raises(wl.ConfigError, match="^pace.requests: found 9, wanted none: the caller submits as many requests as there are"):
        wl.Session("tiny", pace={"requests": 9})
    wrong: Any = few()
    with pytest.raises(wl.ConfigError, match="source: found <generator .*, wanted a function that returns an iterator"):
        wl.Workload.drawn(wrong)
    nothing: Any = lambda: None  # noqa: E731
    with pytest.raises(wl.ConfigError, match="source: found a function that returned None"):
        wl.run("tiny", wl.Workload.drawn(nothing))
    with pytest.raises(wl.ConfigError, match="until: found .* beside a drawn workload"):
        wl.run("tiny", wl.Workload.drawn(few), until="p99:2%")
    with pytest.raises(wl.ConfigError, match="workload: found Workload.*, wanted one that is not drawn"):
        wl.Session("tiny", wl.Workload.drawn(few))
    with pytest.raises(wl.ConfigError, match="study: workload: found Workload.*, wanted a workload that is not drawn"):
        wl.Study({"preset": "tiny", "workload": wl.Workload.drawn(few)})


def test_an_endless_generator_is_cancelled() -> None:
    def endless() -> Iterator[Chunk]:
        while True:
            yield 0, "read", np.arange(64) * 8, 8

    handle = wl.Handle()
    with pytest.raises(wl.Cancelled) as cancelled:
        wl.run("tiny", wl.Workload.drawn(endless, queue_depth=4), handle=handle, observe=lambda _: handle.cancel())
    assert cancelled.value.result is not None and cancelled.value.result.host.requests > 0
