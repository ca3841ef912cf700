"""State of a design: plain data, of which each device has its own, and which snapshots, pickles and names of runs
contain.
"""

import collections
import pickle
import random as standard
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import wordline as wl

LOAD = wl.Workload("randwrite-4k-steady", requests=3_000)


class Hidden(wl.Design, name="hidden"):
    """A design that creates its memory in a method, as programs do."""

    def __init__(self) -> None:
        super().__init__()
        self.hist: list[int] = []

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.hist.append(view.free_blocks)
        blocks = view.oldest(16)
        return blocks[len(self.hist) // 7 % len(blocks)]


class Silent(wl.Design, name="silent"):
    """A design that does not call the constructor of its base class."""

    seen: list[int] = [0]

    def __init__(self) -> None:
        pass

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.seen[0] += 1
        blocks = view.fewest(16)
        return blocks[self.seen[0] % len(blocks)]


class Tables(wl.Design, name="tables"):
    """A design with a field of each kind. All fields affect its decisions."""

    offsets: list[int] = [0, 1, 2]
    rates: dict[str, float] = {"old": 0.5, "new": 0.25}
    weights: NDArray[np.float64] = np.ones(16)
    asked: wl.Counter = wl.counter("victims", unit="blocks")

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.asked += 1
        blocks = view.oldest(16)
        costs = [self.weights[n] * self.rates["old"] * block.valid + self.offsets[n % 3] for n, block in enumerate(blocks)]
        place = int(np.argmin(costs))
        self.weights[place] += 1
        self.rates["old"] *= 1.001
        self.offsets.append(self.offsets.pop(0))
        return blocks[place]


def digests(design: wl.Design, seeds: tuple[int, ...] = (1, 1, 1)) -> list[str]:
    return [wl.run("tiny", LOAD, seed=seed, design=design).digest for seed in seeds]


@pytest.mark.parametrize("made", [Hidden, Silent, Tables])
def test_equal_seeds_give_equal_digests_whatever_a_design_remembers(made: type[wl.Design], tmp_path: Path) -> None:
    design = made()
    before = repr(design)
    assert len(set(digests(design))) == 1
    assert repr(design) == before, "a run changes a copy"
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k-steady", "requests": 2_000}, "columns": ["write_amplification"]}
    values = {wl.Study(keys, design=design).run(seeds=3, threads=threads).rows[0].columns["write_amplification"].values for threads in (1, 2, 2)}
    assert len(values) == 1 and len(values.pop()) == 3
    wl.contract(made)


def test_a_design_has_its_fields_for_itself() -> None:
    one, other = Tables(), Tables()
    one.offsets.append(7)
    one.weights[0] = 9
    given = {"old": 0.5}
    third = Tables(rates=given)
    given["old"] = 0.75
    assert other.offsets == Tables.offsets == [0, 1, 2] and other.weights[0] == 1 and third.rates == {"old": 0.5}
    assert Silent().seen is not Silent.seen


def test_the_content_of_fields_is_in_the_text_of_a_design() -> None:
    assert repr(Tables(offsets=[1])) .startswith("Tables(offsets=[1], rates={'old': 0.5, 'new': 0.25}, weights=<array of float64 16 ")
    arrays = [np.ones(16), np.full(16, 2.0)]
    assert len({repr(Tables(weights=weights)) for weights in arrays}) == 2
    assert repr(Tables(weights=arrays[0])) == repr(Tables())
    long = [repr(Tables(offsets=[*range(100), last])) for last in (1, 2)]
    assert long[0] != long[1] and "offsets=<list 101 " in long[0]
    assert repr(Hidden()) == "Hidden(hist=[])"


def test_the_name_of_a_run_has_the_content_of_fields(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 200}, "columns": ["host.iops"]}
    store = tmp_path / "runs"
    wl.Study(keys, design=Tables()).run(store=store)
    done = [wl.Study(keys, design=design).plan(store=store).done for design in (Tables(), Tables(weights=np.full(16, 2.0)), Tables(rates={"old": 0.5}))]
    assert done == [1, 0, 0]
    changed = Tables()
    study = wl.Study(keys, design=changed)
    changed.offsets.append(5)
    assert study.plan(store=store).done == 1, "a study has a copy of its design"
    assert wl.Study(keys, design=changed).plan(store=store).done == 0


def test_a_pickle_and_a_snapshot_have_the_content_of_fields(tmp_path: Path) -> None:
    design = Tables(offsets=[3, 1, 2], weights=np.arange(1.0, 17))
    same = pickle.loads(pickle.dumps(design))
    assert repr(same) == repr(design) and digests(same, (2,)) == digests(design, (2,))
    snapshot = tmp_path / "tiny.snap"
    wl.run("tiny", LOAD, seed=1, design=design, save_snapshot=snapshot)
    restored = [wl.run("tiny", LOAD, seed=2, warm_up="none", design=own, from_snapshot=snapshot).digest for own in (design, same, same)]
    assert len(set(restored)) == 1, "what was saved takes the place of what the object had"


def test_a_snapshot_of_a_design_with_other_settings_is_refused_with_the_key(tmp_path: Path) -> None:
    class Weighed(Tables, name="tables"):
        weight: float = 0.5

    snapshot = tmp_path / "tiny.snap"
    wl.run("tiny", LOAD, design=Weighed(), save_snapshot=snapshot)
    for design, sentence in [
        (Weighed(weight=3.0), "the design Weighed: weight: found 3.0, wanted 0.5, with which the snapshot was made"),
        (Weighed(weights=np.zeros(16)), "the design Weighed: weights: found <array of float64 16 "),
        (None, "tiny.snap: found the state of a device with the design tables, wanted the state of a device without a design"),
        (Hidden(), "tiny.snap: found the state of a device with the design tables, wanted the state of a device with the design hidden"),
        (Tables(), "the design Tables: weight: found nothing, wanted 0.5, with which"),
    ]:
        with pytest.raises(wl.ConfigError, match=re.escape(sentence)):
            wl.run("tiny", LOAD, warm_up="none", design=design, from_snapshot=snapshot)


class Other:
    def __repr__(self) -> str:
        return "<an object>"


class Pair(NamedTuple):
    a: int
    b: int


SHARED = [1]
OBJECTS: list[tuple[Any, str]] = [
    (Other(), "Odd.it: found an object of the type test_design_state.Other, wanted None, True or False, a number, text"),
    ([1, {"deep": (2, Other())}], "Odd.it[1]['deep'][1]: found an object of the type test_design_state.Other"),
    (standard.Random(1), "Odd.it: found an object of the type random.Random"),
    (np.random.default_rng(1), "Odd.it: found an object of the type numpy.random._generator.Generator"),
    (np.array([Other()]), "Odd.it: found an object of the type numpy.ndarray of objects"),
    (np.ma.array([1], mask=[True]), "Odd.it: found an object of the type numpy.ma.MaskedArray"),
    ({1, 2}, "Odd.it: found an object of the type set, wanted a dict or a list: the order of a set is another one in each process"),
    (collections.deque([1]), "Odd.it: found an object of the type collections.deque"),
    (collections.defaultdict(int), "Odd.it: found an object of the type collections.defaultdict"),
    (Pair(1, 2), "Odd.it: found an object of the type test_design_state.Pair"),
    (lambda: 1, "Odd.it: found an object of the type function"),
    (open, "Odd.it: found an object of the type builtin_function_or_method"),
    (iter([1]), "Odd.it: found an object of the type list_iterator"),
    (wl.Op.READ, "Odd.it: found an object of the type wordline._columns.Op"),
    ([SHARED, SHARED], "Odd.it[1]: found the list that is Odd.it[0], too, wanted one of its own: a snapshot has two"),
    (1 << 10_000, "Odd.it: found a whole number of 10001 bits"),
]


class Odd(wl.Design, name="odd"):
    def __init__(self, it: Any) -> None:
        super().__init__()
        self.it = it

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        return view.fewest(1)[0]


@pytest.mark.parametrize(("value", "sentence"), OBJECTS, ids=range(len(OBJECTS)))
def test_what_is_no_plain_data_is_refused_with_its_name_and_type(value: Any, sentence: str) -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 200}, "columns": ["host.iops"]}
    design = Odd(value)
    for use in (lambda: wl.run("tiny", LOAD, design=design), lambda: wl.Study(keys, design=design), lambda: wl.contract(design)):
        with pytest.raises(wl.ConfigError) as refused:
            use()
        assert sentence in str(refused.value)


PLAIN: list[Any] = [
    None, True, -3, 1 << 70, 0.1, float("inf"), -0.0, "text", "", "\ud800", b"", b"\x00\xff", [], (), {}, [1, [2, (3, {"a": [4]})]],
    {1: "a", "b": 2, None: 3, (1, "c"): 4, 2.5: 5}, {"list": 1}, {"tuple": [1]}, np.float32(1.5), np.bool_(True), np.datetime64("2026-01-01"),
    np.zeros(0), np.array(3), np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(10)[::3], np.zeros((0, 4), np.int8),
    np.array(["a", "bcd"]), np.array([1 + 2j]), np.zeros(3, dtype=[("a", np.int32), ("b", np.float64, (2,))]), np.array([np.nan, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN)
def test_plain_data_come_back_as_they_were(value: Any) -> None:
    design = Odd(value)
    copy: Any = design._copied().it  # pyright: ignore[reportPrivateUsage]
    assert type(copy) is type(value)
    if type(value) is np.ndarray:
        assert copy.dtype == value.dtype and copy.shape == value.shape and copy.tobytes() == value.tobytes()
        assert copy.flags.writeable and copy.flags.owndata
        assert copy.flags.c_contiguous or copy.flags.f_contiguous == value.flags.f_contiguous
    else:
        assert repr(copy) == repr(value)
    saved = design._save()  # pyright: ignore[reportPrivateUsage]
    assert design._copied()._save() == saved  # pyright: ignore[reportPrivateUsage]


class Late(wl.Design, name="late"):
    """A design that creates an object that is not plain data, on its first call."""

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.when = Other()
        return view.fewest(1)[0]


def test_state_that_cannot_be_saved_is_found_when_it_is_saved(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 200}, "columns": ["host.iops"]}
    with pytest.raises(wl.ConfigError, match="Late.when: found an object of the type test_design_state.Other"):
        wl.run("tiny", LOAD, design=Late(), save_snapshot=tmp_path / "tiny.snap")
    assert list(tmp_path.iterdir()) == [], "no snapshot without its design"
    with pytest.raises(wl.ContractError, match="the design late breaks the contract: .*Late.when: found an object of the type"):
        wl.Study(keys, design=Late()).run(store=tmp_path / "runs")


COUNTS = [0]


class OfModule(wl.Design, name="of-module"):
    """A design that counts in its module, which all devices share."""

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        COUNTS[0] += 1
        return view.fewest(1)[0]


class OfClass(wl.Design, name="of-class"):
    asked = 0

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        type(self).asked += 1
        blocks = view.oldest(16)
        return blocks[type(self).asked // 3 % len(blocks)]


@pytest.mark.parametrize("design", [OfModule, OfClass])
def test_a_study_tries_a_design_before_it_runs(design: type[wl.Design], tmp_path: Path) -> None:
    keys: dict[str, Any] = {"preset": "tiny", "workload": {"name": "randwrite-4k", "requests": 200}, "columns": ["host.iops"]}
    study = wl.Study(keys, design=design())
    with pytest.raises(wl.Error, match="a restored device|a value of its module or its class that changes while it runs"):
        study.run(store=tmp_path / "runs")
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs" / "runs").iterdir())


def test_what_devices_would_share_is_refused_with_the_class() -> None:
    def of(**more: Any) -> type:
        return type("Bad", (wl.Design,), {"victim": Late.victim, "__annotations__": {}, **more}, name="bad")

    with pytest.raises(wl.ConfigError, match=r"bad.hist: found an object of the type list that all its devices would share, wanted a field, `hist: list = ...`"):
        of(hist=[])
    objects: list[Any] = [(1, [2]), standard.Random(1), np.zeros(3), collections.deque(), Other()]
    for shared in objects:
        with pytest.raises(wl.ConfigError, match=r"bad.hist: found an object of the type \S+ that all its devices would share"):
            of(hist=shared)
    with pytest.raises(wl.ConfigError, match=r"the design bad: found __slots__ in Bad"):
        of(__slots__=("hist",))
    with pytest.raises(wl.ConfigError, match=r"bad.it\[0\]: found an object of the type test_design_state.Other"):
        of(it=[Other()], __annotations__={"it": "list"})
    constants = (1, "a", None, (2.5, frozenset({3})), re.compile("a"), wl.Op.READ, np, len, Other, property(len), range(3), np.int64(1), np.add, Any)
    assert of(sizes=constants)().sizes == constants


class Base(wl.Design, name="base"):
    weight: float = 1.0
    calls: wl.Counter = wl.counter("calls")

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.calls += 1
        return view.fewest(1)[0]


class Derived(Base, name="derived"):
    spare: int = 3


def test_fields_and_counters_are_inherited() -> None:
    assert repr(Derived(weight=2.0)) == "Derived(weight=2.0, spare=3)"
    assert wl.run("tiny", LOAD, design=Derived()).others["derived"]["calls"] > 0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"offsets": (1, 2)}, "offsets: found (1, 2), wanted a value such as [0, 1, 2]"),
        ({"rates": [1]}, "rates: found [1], wanted a value such as {'old': 0.5, 'new': 0.25}"),
        ({"weights": [1.0]}, "weights: found [1.0], wanted a value such as <array of float64 16 "),
        ({"weights": np.ones((4, 4))}, "weights: found array("),
        ({"weights": np.ones(16, dtype=np.int64)}, "weights: found array("),
        ({"offsets": [Other()]}, "offsets[0]: found an object of the type test_design_state.Other"),
    ],
)
def test_fields_have_the_type_of_their_default(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(wl.ConfigError) as refused:
        Tables(**settings)
    assert sentence in str(refused.value)
