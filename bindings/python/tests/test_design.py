"""Designs in Python."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

import wordline as wl

LOAD = wl.Workload("randwrite-4k-steady", requests=5_000)


class Young(wl.Design, name="young"):
    """Cost-benefit by age, over the sixteen oldest blocks."""

    weight: float = 1.0
    spared: wl.Counter = wl.counter("young victims spared", unit="blocks")

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        best = max(view.oldest(16), key=lambda b: (view.pages - b.valid) / (b.valid + 1) * b.age**self.weight)
        self.spared += best.age < 60
        return best


class Fewest(wl.Design, name="fewest"):
    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return view.fewest(1)[0]


class Drawn(wl.Design, name="drawn", looks_at=64):
    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        blocks = view.oldest(64)
        return blocks[random.below(len(blocks)) if random.random() < 0.5 else 0]


Answer: TypeAlias = Callable[[wl.View, wl.Random], object]


def of(answer: Answer) -> wl.Design:
    """A design that answers by a function."""

    class Answering(wl.Design, name="answering"):
        def victim(self, view: wl.View, random: wl.Random) -> Any:
            return answer(view, random)  # whatever it is

    return Answering()


def test_a_design_that_does_what_a_policy_does_gives_its_digest() -> None:
    assert wl.run("tiny", LOAD, design=Fewest()).digest == wl.run("tiny", LOAD).digest
    fifo = wl.Device("tiny", {"ftl.gc.victim.policy": "fifo"})
    # Theory lays the steady state of a policy that it knows: it cannot know that this is one of these.
    oldest = wl.run(fifo, LOAD, precondition="filled", design=of(lambda view, random: view.oldest(1)[0]))
    assert oldest.digest == wl.run(fifo, LOAD, precondition="filled").digest


def test_equal_seeds_give_equal_digests_with_random_numbers_among_it() -> None:
    digests = [wl.run("tiny", LOAD, seed=seed, design=Drawn()).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_fields_are_configuration_and_counters_are_metrics() -> None:
    design = Young(weight=3)
    result = wl.run("tiny", LOAD, seed=1, design=design)
    assert result.others["young"]["spared"] > 0 and design.spared == 0, "each device has its own"
    assert result.digest != wl.run("tiny", LOAD, seed=1, design=Young(weight=0.0)).digest
    assert any("the design young in Python was called" in note for note in result.notes)
    assert repr(design) == "Young(weight=3.0)"


def test_an_exception_keeps_its_traceback() -> None:
    def answer(view: wl.View, random: wl.Random) -> wl.Block:
        return view.oldest(1)[3]

    with pytest.raises(IndexError) as raised:
        wl.run("tiny", LOAD, design=of(answer))
    assert raised.traceback[-1].name == "answer"


WRONG: list[tuple[Answer, type[wl.Error], str]] = [
    (lambda view, random: 3, wl.DesignError, "the design answering answered `victim` wrongly: found 3, wanted a block of the view"),
    (lambda view, random: view.oldest(99), wl.ConfigError, "blocks of a view: found 99, wanted at most 16: class"),
    (lambda view, random: random.below(0), wl.ConfigError, "the bound: found 0, wanted at least 1"),
]


@pytest.mark.parametrize(("answer", "error", "sentence"), WRONG)
def test_a_wrong_answer_is_a_sentence(answer: Answer, error: type[wl.Error], sentence: str) -> None:
    with pytest.raises(error) as raised:
        wl.run("tiny", LOAD, design=of(answer))
    assert sentence in str(raised.value)


def test_a_block_of_an_earlier_view_is_no_answer() -> None:
    kept: list[wl.Block] = []

    def answer(view: wl.View, random: wl.Random) -> wl.Block:
        kept.append(view.fewest(1)[0])
        return kept[0]

    with pytest.raises(wl.DesignError, match="wanted a candidate of row") as raised:
        wl.run("tiny", LOAD, design=of(answer))
    assert "[part.geometry]" in raised.value.reproducer or "part" in raised.value.reproducer


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"wieght": 1.0}, "wieght: found an unknown key, wanted one of weight; did you mean weight?"),
        ({"weight": "much"}, "weight: found 'much', wanted a value such as 1.0"),
        ({"spared": 3}, "spared: found an unknown key"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(wl.ConfigError) as refused:
        Young(**settings)
    assert sentence in str(refused.value)


def test_a_class_that_is_no_design() -> None:
    with pytest.raises(wl.ConfigError, match="wanted small letters"):
        type("Bad", (wl.Design,), {"victim": print, "__annotations__": {}}, name="Bad name")
    with pytest.raises(wl.ConfigError, match="no answer to anything"):
        type("Bad", (wl.Design,), {"__annotations__": {}}, name="bad")
    with pytest.raises(wl.ConfigError, match="design: found it with a device of the type fixed-latency"):
        wl.run("fixed-latency", LOAD, design=Fewest())


def test_designs_keep_the_contract() -> None:
    wl.contract(Young)

    class Forgetful(wl.Design, name="forgetful"):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            self.calls += 1  # no snapshot has it
            return view.fewest(16)[self.calls % len(view.fewest(16))]

    with pytest.raises(wl.DesignError):
        wl.contract(Forgetful)
