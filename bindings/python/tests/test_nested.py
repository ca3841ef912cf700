"""Tests values that contain themselves or are deeply nested. Each must give one error message, and the interpreter
must continue.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import wordline as wl

DEEP = 200_000
LOAD = {"name": "randwrite-4k", "requests": 100}
STUDY = {"preset": "tiny", "workload": LOAD, "vary": [{"key": "ftl.over_provisioning", "values": [0.3, 0.4]}]}


def dicts(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def lists(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def own(kind: type) -> Any:
    """A dict or a list that contains itself two levels down."""
    outer: Any = {"a": {}} if kind is dict else [[]]
    if kind is dict:
        outer["a"]["b"] = outer
    else:
        outer[0].append(outer)
    return outer


class Endless(Mapping[str, Any]):
    """A mapping that creates another one at each access."""

    def __getitem__(self, key: str) -> Any:
        return Endless()

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Listed(wl.Design, name="listed"):
    kept: list[Any] = []
    table: dict[str, Any] = {}

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return view.fewest(1)[0]


def set_attribute(value: Any) -> None:
    wl.Device("tiny").ftl.gc.victim = value


TAKERS: list[tuple[Callable[[Any], object], str]] = [
    (lambda value: wl.Device({"preset": "tiny", "ftl": value}), "ftl"),
    (lambda value: wl.Device("tiny", {"ftl": value}), "ftl"),
    (lambda value: wl.Device("tiny").update({"ftl": value}), "ftl"),
    (set_attribute, "ftl.gc.victim"),
    (lambda value: wl.Study({"preset": "tiny", "workload": value}), "workload"),
    (lambda value: wl.Study({"preset": "tiny", "workload": LOAD, "vary": value}), "vary"),
    (lambda value: wl.Workload(trace="a.csv", trace_options={"columns": value}), "columns"),
    (lambda value: wl.Workload(value), "name"),
    (lambda value: wl.Workload("randwrite-4k", requests=value), "requests"),
    (lambda value: wl.Workload("randwrite-4k", think_time=value), "think_time"),
    (lambda value: wl.Workload.given(value, "read", 0, 8), "times"),
    (lambda value: wl.Workload.given(0, value, 0, 8), "ops"),
    (lambda value: wl.run("tiny", "randwrite-4k", precondition=value), "precondition"),
    (lambda value: wl.run("tiny", "randwrite-4k", seed=value), "seed"),
    (lambda value: wl.run("tiny", "randwrite-4k", design=value), "design"),
    (lambda value: wl.Session("tiny", pace={"queue_depth": value}), "queue_depth"),
    (lambda value: Listed(kept=[value]), "kept"),
    (lambda value: Listed(table={"of": value}), "table"),
    (lambda value: wl.compare(value), "results"),
    (lambda value: wl.Study(STUDY).search(minimise=value, trials=1), "minimise"),
    (lambda value: wl.Study(STUDY).search(minimise=["host.iops"], maximise=value, trials=1), "maximise"),
]


@pytest.mark.parametrize(("take", "place"), TAKERS)
@pytest.mark.parametrize("value", [own(dict), own(list), dicts(DEEP), lists(DEEP), Endless()], ids=["own dict", "own list", "deep dict", "deep list", "endless"])
def test_whoever_takes_values_refuses_those_that_do_not_end(take: Callable[[Any], object], place: str, value: Any) -> None:
    with pytest.raises(wl.ConfigError) as refused:
        take(value)
    text = str(refused.value)
    assert place in text and "found" in text and len(text) < 500, text


def test_the_sentence_names_the_first_keys() -> None:
    with pytest.raises(wl.ConfigError) as refused:
        wl.Device({"preset": "tiny", "ftl": {"gc": dicts(DEEP)}})
    assert str(refused.value) == "ftl.gc.a.a ...: found one more table or list, wanted at most 80 tables and lists within each other"
    assert refused.value.findings[0].key == "ftl.gc.a.a ..."
    table: dict[str, Any] = {"gc": {}}
    table["gc"]["victim"] = table
    with pytest.raises(wl.ConfigError, match=r"^ftl.gc.victim: found a dict that holds itself, wanted values that end$"):
        wl.Device({"preset": "tiny", "ftl": table})
    names: list[Any] = ["a"]
    names.append(names)
    with pytest.raises(wl.ConfigError, match=r"^designs\[1\]: found a list that holds itself, wanted values that end$"):
        wl.Device({"preset": "tiny", "designs": names})


def test_eighty_levels_are_read_and_one_more_is_not() -> None:
    for depth, sentence in ((79, "found an unknown key"), (80, "found one more table or list")):
        with pytest.raises(wl.ConfigError, match=sentence):
            wl.Device({"preset": "tiny", "nothing": dicts(depth)})


def test_a_value_in_two_places_is_no_value_in_itself() -> None:
    victim = {"policy": "greedy"}
    both = wl.Device({"preset": "tiny", "ftl": {"gc": {"victim": victim}}}), wl.Device("tiny", {"ftl.gc.victim": victim})
    assert both[0] == both[1]
    many: Any = 1
    for _ in range(40):  # two to the power of forty values
        many = [many, many]
    with pytest.raises(wl.ConfigError, match="found more values, wanted at most 1000000"):
        wl.Device({"preset": "tiny", "designs": many})


def test_the_values_of_a_design_are_no_deeper() -> None:
    assert Listed(kept=lists(78)).kept == lists(78)
    with pytest.raises(wl.ConfigError) as refused:
        Listed(kept=lists(DEEP))
    assert str(refused.value) == "kept[0][0][0][0] ...: found one more list, tuple or dict, wanted at most 80 within each other"
