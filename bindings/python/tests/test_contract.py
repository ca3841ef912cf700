"""Tests the contract of designs. A violation is reported with trial, seed and time, and nothing is printed."""

import pickle
from typing import Any

import pytest

import wordline as wl

CALLS = [0]
KEPT: list[wl.Block] = []


class Forgetful(wl.Design, name="forgetful"):
    """A design that counts in a place that snapshots do not contain."""

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        CALLS[0] += 1
        blocks = view.fewest(16)
        return blocks[CALLS[0] // 3 % len(blocks)]


class Stale(wl.Design, name="stale"):
    """A design that returns blocks of earlier views."""

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        KEPT.append(view.fewest(1)[0])
        return KEPT[0]


class Wrong(wl.Design, name="wrong"):
    def victim(self, view: wl.View, random: wl.Random) -> Any:
        return 3


class Raising(wl.Design, name="raising"):
    """A design that raises an exception at its hundredth call."""

    left: int = 100

    def victim(self, view: wl.View, random: wl.Random) -> wl.Block:
        self.left -= 1
        return view.oldest(1)[0 if self.left else 7]


class Careless(wl.Design, name="careless"):
    """A design that raises an exception after a failed operation."""

    def failed(self, failure: wl.Failure, random: wl.Random) -> Any:
        raise KeyError(failure.failed)


def broken(design: type[wl.Design], capfd: pytest.CaptureFixture[str]) -> wl.ContractError:
    """The violation that the contract reports. Nothing else may be printed."""
    with pytest.raises(wl.ContractError) as raised:
        wl.contract(design)
    assert capfd.readouterr() == ("", ""), "the exception says it"
    error = raised.value
    place = f"(trial {error.trial}, seed {error.seed}, at "
    text = str(error)
    assert text.startswith(f"the design {design.__name__.lower()} breaks the contract: ") and place in text, text
    assert "panicked" not in text and ".rs" not in text and isinstance(error, wl.DesignError)
    return error


def test_state_that_no_snapshot_has_is_found(capfd: pytest.CaptureFixture[str]) -> None:
    error = broken(Forgetful, capfd)
    assert (error.trial, error.__cause__) == ("snapshots", None) and error.seed in (1, 2, 3) and error.time_ps > 0
    assert "a restored device does something else than the one that was saved" in str(error)
    same = pickle.loads(pickle.dumps(error))
    assert (same.trial, same.seed, same.time_ps, str(same)) == (error.trial, error.seed, error.time_ps, str(error))


def test_an_answer_that_is_not_allowed_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    error = broken(Stale, capfd)
    assert (error.trial, error.seed) == ("usual", 1) and error.time_ps > 0
    assert "the design stale made an invalid decision for `victim`: found" in str(error)
    error = broken(Wrong, capfd)
    assert isinstance(error.__cause__, wl.DesignError) and "found 3, wanted a block of the view, or None" in str(error)


def test_an_exception_of_the_design_is_the_cause(capfd: pytest.CaptureFixture[str]) -> None:
    error = broken(Raising, capfd)
    assert isinstance(error.__cause__, IndexError) and error.trial == "usual" and "IndexError: list index out of range" in str(error)
    assert error.__cause__.__traceback__ is not None and error.__cause__.__traceback__.tb_frame.f_code.co_name == "victim"
    error = broken(Careless, capfd)
    assert isinstance(error.__cause__, KeyError) and error.trial == "faults"


@pytest.mark.parametrize("design", [3, int, "young", None, wl.Design, wl])
def test_what_is_no_design_is_refused(design: Any) -> None:
    with pytest.raises(wl.ConfigError, match="design: found|the design Design: found no name"):
        wl.contract(design)
