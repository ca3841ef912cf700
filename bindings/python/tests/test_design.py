"""Designs in Python."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

import wordline as wl

LOAD = wl.Workload("randwrite-4k-steady", requests=5_000)


class Young(wl.Design, name="young"):
    """Cost-benefit policy with age, over the sixteen oldest blocks."""

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
    """A design that calls a function."""

    class Answering(wl.Design, name="answering"):
        def victim(self, view: wl.View, random: wl.Random) -> Any:
            return answer(view, random)  # whatever it is

    return Answering()


def test_a_design_that_does_what_a_policy_does_gives_its_digest() -> None:
    assert wl.run("tiny", LOAD, design=Fewest()).digest == wl.run("tiny", LOAD).digest
    fifo = wl.Device("tiny", {"ftl.gc.victim.policy": "fifo"})
    # The steady state of a built-in policy may be computed by theory, that of a design is not: both runs begin filled.
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
    (lambda view, random: 3, wl.DesignError, "the design answering made an invalid decision for `victim`: found 3, wanted a block of the view"),
    (lambda view, random: view.oldest(99), wl.ConfigError, "blocks of a view: found 99, wanted at most 16: class"),
    (lambda view, random: random.below(0), wl.ConfigError, "bound: found 0, wanted a whole number from 1 to"),
]


@pytest.mark.parametrize(("answer", "error", "sentence"), WRONG)
def test_a_wrong_answer_is_a_sentence(answer: Answer, error: type[wl.Error], sentence: str) -> None:
    with pytest.raises(error) as raised:
        wl.run("tiny", LOAD, design=of(answer))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("count", [1.5, -1, "much"])
def test_a_counter_that_is_no_count_is_named(count: Any) -> None:
    class Counting(wl.Design, name="counting"):
        made: wl.Counter = wl.counter("decisions")

        def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
            self.made = count
            return view.fewest(1)[0]

    with pytest.raises(wl.ConfigError, match=f"counter made of the design counting: found {count!r}, wanted a whole number from 0"):
        wl.run("tiny", LOAD, design=Counting())


@pytest.mark.parametrize("precondition", ["empty", "filled"])
def test_a_design_that_selects_no_victim_is_told_so_when_commands_wait_for_ever(precondition: str) -> None:
    sentence = r"found no victim, wanted a candidate of plane group \d+, which has \d free blocks: commands wait"
    with pytest.raises(wl.DesignError, match=sentence):
        wl.run("tiny", wl.Workload("randwrite-4k", requests=20_000), precondition=precondition, design=of(lambda view, random: None))
    with pytest.raises(wl.ContractError, match=sentence):
        wl.contract(of(lambda view, random: None))


def test_a_block_of_an_earlier_view_is_no_answer() -> None:
    kept: list[wl.Block] = []

    def answer(view: wl.View, random: wl.Random) -> wl.Block:
        kept.append(view.fewest(1)[0])
        return kept[0]

    with pytest.raises(wl.DesignError, match="wanted a candidate of plane group") as raised:
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
    with pytest.raises(wl.ConfigError, match="no decision method"):
        type("Bad", (wl.Design,), {"__annotations__": {}}, name="bad")
    with pytest.raises(wl.ConfigError, match="design: found it with a device of the type fixed-latency"):
        wl.run("fixed-latency", LOAD, design=Fewest())


def test_designs_keep_the_contract() -> None:
    wl.contract(Young)


LAYERED = {"ftl.gc.relocator": {"policy": "generations", "streams": 3}}
RESTING = {"ftl.gc.background": {"policy": "idle-gc", "idle": "2ms", "until_free": 5}}


class Generations(wl.Design, name="layers", gc_streams=3):
    """The built-in policy of that name."""

    def relocate(self, page: wl.Moved, random: wl.Random) -> int:
        return 0 if page.moved_by is None else min(page.moved_by + 1, 2)


class Ahead(wl.Design, name="ahead", idle_after="2ms"):
    most: int = 5

    def idle(self, row: wl.Resting, random: wl.Random) -> int:
        assert row.free_blocks <= row.good_blocks and row.full_blocks <= row.good_blocks
        return self.most


class Tags(wl.Design, name="tags", streams=2):
    odd: wl.Counter = wl.counter("pages of odd numbers", unit="logical pages")

    def stream(self, page: wl.Written, random: wl.Random) -> int:
        self.odd += page.logical % 2
        return page.logical % 2


def test_a_relocator_in_python_gives_the_digest_of_the_policy() -> None:
    own, python = wl.run(wl.Device("tiny", LAYERED), LOAD), wl.run("tiny", LOAD, design=Generations())
    assert own.digest == python.digest != wl.run("tiny", LOAD).digest


def test_idle_work_in_python_gives_the_digest_of_the_policy() -> None:
    load = wl.Workload("randwrite-4k", requests=3_000, bursts="10ms")
    own, python = wl.run(wl.Device("tiny", RESTING), load, precondition="filled"), wl.run("tiny", load, precondition="filled", design=Ahead())
    assert own.digest == python.digest != wl.run("tiny", load, precondition="filled").digest


def test_pages_are_kept_apart_in_streams() -> None:
    result = wl.run("tiny", LOAD, precondition="filled", design=Tags())
    assert 2_000 < result.others["tags"]["odd"] < 3_000
    assert result.digest != wl.run("tiny", LOAD, precondition="filled").digest


FAILING = {"faults": [{"fails": "program", "probability": 0.002}]}


def test_blocks_that_failed_are_treated_as_a_design_says() -> None:
    seen: list[tuple[str, int]] = []

    class Bearing(wl.Design, name="bearing"):
        answer: str = "go-on"

        def failed(self, failure: wl.Failure, random: wl.Random) -> Any:
            seen.append((failure.failed, failure.times))
            return self.answer

    drive = wl.Device("tiny", FAILING)
    borne = wl.run(drive, LOAD, precondition="filled", design=Bearing())
    retired = wl.run(drive, LOAD, precondition="filled", design=Bearing(answer="retire"))
    assert {failed for failed, _ in seen} == {"program"}
    assert retired.digest == wl.run(drive, LOAD, precondition="filled").digest != borne.digest
    with pytest.raises(wl.DesignError, match='found \'mend\', wanted "retire", "close" or "go-on"'):
        wl.run(drive, LOAD, precondition="filled", design=Bearing(answer="mend"))


@pytest.mark.parametrize("answer", [2, -1, "first", None])
def test_a_stream_that_there_is_not_is_a_wrong_answer(answer: Any) -> None:
    class Astray(wl.Design, name="astray", gc_streams=2):
        def relocate(self, page: wl.Moved, random: wl.Random) -> Any:
            return answer

    with pytest.raises(wl.DesignError, match="wanted the number of one of its streams, from 0"):
        wl.run("tiny", LOAD, design=Astray())


@pytest.mark.parametrize("design", [Generations, Ahead, Tags])
def test_other_designs_keep_the_contract(design: type[wl.Design]) -> None:
    wl.contract(design)


def test_what_a_class_answers_goes_with_what_it_says() -> None:
    with pytest.raises(wl.ConfigError, match="gc_streams of the design bad: found none beside relocate"):
        type("Bad", (wl.Design,), {"relocate": print, "__annotations__": {}}, name="bad")
    with pytest.raises(wl.ConfigError, match="idle_after of the design bad: found it without idle"):
        type("Bad", (wl.Design,), {"victim": print, "__annotations__": {}}, name="bad", idle_after="1ms")
    with pytest.raises(wl.ConfigError, match="idle_after: found no time"):
        type("Bad", (wl.Design,), {"idle": print, "__annotations__": {}}, name="bad", idle_after="soon")
