"""Tests Python designs that replace policies: wear levelling, and admission to the write buffer."""

import json
from typing import Any

import pytest

import wordline as wl

LOAD = wl.Workload("randwrite-4k-steady", requests=5_000)

# Writes to a tenth of the drive, so that the other data are cold. The factor 7919, a prime, spreads the addresses.
LYING = wl.Workload.given(
    [n * 300_000_000 for n in range(10_000)], "write", [n * 7919 % 300 * 8 for n in range(10_000)], 8
)


class Bet(wl.Design, name="python-bet"):
    """The built-in policy `bet` with sets of one block."""

    threshold: int = 4
    tables: str = "{}"
    named: wl.Counter = wl.counter("blocks that were named", unit="blocks")

    def wear(self, row: wl.Wearing, random: wl.Random) -> wl.Block | None:
        tables = json.loads(self.tables)
        table = tables.setdefault(str(row.row), {"saw": [False] * row.blocks, "erases": 0, "at": 0})
        for number in row.erased:
            table["erases"] += 1
            table["saw"][number - row.first] = True
        block = self.following(table, row, random)
        self.tables = json.dumps(tables)
        self.named += block is not None
        return block

    def following(self, table: Any, row: wl.Wearing, random: wl.Random) -> wl.Block | None:
        while True:
            marked = sum(table["saw"])
            if marked == 0 or table["erases"] < self.threshold * marked:
                return None
            if marked == row.blocks:
                table.update(saw=[False] * row.blocks, erases=0, at=random.below(row.blocks))
                return None
            while table["saw"][table["at"]]:
                table["at"] = (table["at"] + 1) % row.blocks
            block = row.block(row.first + table["at"])
            table["saw"][table["at"]] = True
            table["at"] = (table["at"] + 1) % row.blocks
            if block is not None:
                return block


class Restless(wl.Design, name="restless"):
    """A design that selects a block at every call."""

    named: wl.Counter = wl.counter("blocks that were named", unit="blocks")

    def wear(self, row: wl.Wearing, random: wl.Random) -> wl.Block | None:
        assert row.erases >= row.most_erases and row.free_blocks <= row.blocks and row.pages > 0
        least, oldest = row.least_erased(row.blocks), row.oldest(1)
        assert [block.erases for block in least] == sorted(block.erases for block in least)
        assert row.least_erased(2) == [] or row.least_erased(2)[0].number == least[0].number
        assert all(block.age <= oldest[0].age for block in least)
        self.named += len(oldest)
        return oldest[0] if oldest else None


class HotStays(wl.Design, name="hot-stays", in_flight="64MiB"):
    """The built-in policy `unless-hot` with windows of 10 ms."""

    end: int = 0
    seen: int = 0
    asked: wl.Counter = wl.counter("pages that it was asked about", unit="logical pages")
    kept: wl.Counter = wl.counter("pages that stayed", unit="logical pages")

    def admit(self, page: wl.Arriving, random: wl.Random) -> bool:
        is_new = page.now_ps >= self.end
        hot = not is_new and bool(self.seen >> page.logical & 1)
        if is_new:
            self.end, self.seen = page.now_ps + 10_000_000_000, 0
        self.seen |= 1 << page.logical
        self.asked += 1
        self.kept += hot
        return hot


class Narrow(wl.Design, name="narrow", in_flight="16KiB"):
    asked: wl.Counter = wl.counter("pages that it was asked about", unit="logical pages")

    def admit(self, page: wl.Arriving, random: wl.Random) -> bool:
        self.asked += 1
        return random.random() < 0.1


def test_wear_levelling_in_python_gives_the_digest_of_the_policy() -> None:
    levelled = wl.Device("tiny", {"ftl.wear.levelling": {"policy": "bet", "k": 0, "threshold": 4}})
    own, python = wl.run(levelled, LYING, precondition="filled"), wl.run("tiny", LYING, precondition="filled", design=Bet())
    assert own.digest == python.digest != wl.run("tiny", LYING, precondition="filled").digest
    assert python.others["python-bet"]["named"] > 10
    assert any("the design python-bet in Python was called" in note for note in python.notes)


def test_a_design_that_always_names_a_block_does_so_no_more_often_than_others_are_erased() -> None:
    result = wl.run("tiny", LYING, precondition="filled", design=Restless())
    plain = wl.run("tiny", LYING, precondition="filled")
    assert result.write_amplification is not None and plain.write_amplification is not None
    assert result.others["restless"]["named"] > 50 and result.write_amplification > plain.write_amplification


def test_admission_in_python_gives_the_digest_of_the_policy() -> None:
    eager = wl.Device("tiny", {"buffer.destage": {"policy": "unless-hot", "window": "10ms", "in_flight": "64MiB"}})
    own, python = wl.run(eager, LOAD, precondition="filled"), wl.run("tiny", LOAD, precondition="filled", design=HotStays())
    assert own.digest == python.digest != wl.run("tiny", LOAD, precondition="filled").digest
    assert python.others["hot-stays"]["kept"] > 0


def test_a_design_is_asked_once_for_a_page_however_long_its_write_waits() -> None:
    results = [wl.run("tiny", LOAD, precondition="filled", warm_up="none", seed=seed, design=Narrow()) for seed in (1, 1, 2)]
    assert [result.others["narrow"]["asked"] for result in results] == [5_000] * 3
    assert results[0].digest == results[1].digest != results[2].digest


@pytest.mark.parametrize("answer", [3, "oldest", True])
def test_a_block_that_is_none_is_a_wrong_answer(answer: Any) -> None:
    class Astray(wl.Design, name="astray"):
        def wear(self, row: wl.Wearing, random: wl.Random) -> Any:
            return answer

    with pytest.raises(wl.DesignError, match="made an invalid decision for `wear`: found .*, wanted a block of the row whose data may move now, or None"):
        wl.run("tiny", LYING, precondition="filled", design=Astray())


def test_a_block_of_another_row_is_a_wrong_answer() -> None:
    kept: list[wl.Block] = []

    class Stale(wl.Design, name="stale"):
        def wear(self, row: wl.Wearing, random: wl.Random) -> wl.Block | None:
            others = [block for block in kept if row.block(block.number) is None]
            kept.extend(row.oldest(row.blocks))
            return others[0] if others else None

    with pytest.raises(wl.DesignError, match="wanted a block of the row whose data may move now"):
        wl.run("tiny", LYING, precondition="filled", design=Stale())


def test_an_exception_keeps_its_traceback() -> None:
    class Raising(wl.Design, name="raising", in_flight="1MiB"):
        def admit(self, page: wl.Arriving, random: wl.Random) -> bool:
            raise KeyError(page.logical)

    with pytest.raises(KeyError) as raised:
        wl.run("tiny", LOAD, precondition="filled", design=Raising())
    assert raised.traceback[-1].name == "admit"


@pytest.mark.parametrize("answer", [1, "yes", None])
def test_admission_is_true_or_false(answer: Any) -> None:
    class Unclear(wl.Design, name="unclear", in_flight="1MiB"):
        def admit(self, page: wl.Arriving, random: wl.Random) -> Any:
            return answer

    with pytest.raises(wl.DesignError, match="made an invalid decision for `admit`: found .*, wanted True for a page that stays in the buffer, or False"):
        wl.run("tiny", LOAD, precondition="filled", design=Unclear())


@pytest.mark.parametrize("design", [Bet, Restless, HotStays, Narrow])
def test_they_keep_the_contract(design: type[wl.Design]) -> None:
    wl.contract(design)


def test_what_admission_wants_of_a_class_and_a_device() -> None:
    with pytest.raises(wl.ConfigError, match="in_flight of the design bad: found none beside admit"):
        type("Bad", (wl.Design,), {"admit": print, "__annotations__": {}}, name="bad")
    with pytest.raises(wl.ConfigError, match="in_flight: found much, wanted a size from 1B to 64GiB"):
        type("Bad", (wl.Design,), {"admit": print, "__annotations__": {}}, name="bad", in_flight="much")
    with pytest.raises(wl.ConfigError, match='design: found it with buffer.mode = "write-through", wanted "write-back"'):
        wl.run(wl.Device("tiny", {"buffer.mode": "write-through"}), LOAD, design=Narrow())
    with pytest.raises(wl.ConfigError, match="the design Nameless: found no name"):
        type("Nameless", (wl.Design,), {"wear": print, "__annotations__": {}})()
