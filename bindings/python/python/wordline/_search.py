"""Search for the best values of the varied keys of a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from os import PathLike
from typing import Any, Literal, TypeAlias

from . import _native
from ._arguments import path, refuse, shown, texts, whole
from ._figure import Figure, for_a_page

Run: TypeAlias = Callable[[Sequence[str], Sequence[Sequence[int]]], list[dict[str, Any]]]
"""Runs combinations of values and returns a dict for each: the means of the columns, or the reason why there are
none. Arguments: the columns, and the indices of the values of each combination.
"""


@dataclass(frozen=True)
class Trial:
    """A combination of the varied keys that a search tried."""

    number: int
    """Number of the trial, from 0."""
    at: Mapping[str, Any]
    """Values of the varied keys."""
    values: Mapping[str, float]
    """Objective columns: means over the seeds. Empty unless ``state`` is ``done``."""
    state: Literal["done", "impossible", "failed"]
    """``done`` if it has values, ``impossible`` if the combination is invalid, ``failed`` if a run failed."""
    error: str
    """Reason why there are no values; empty for ``done``."""


class Search:
    """The trials of a search.

    ``front`` is the Pareto front: the trials for which no other trial is at least as good in all objective columns
    and better in one.
    """

    __slots__ = ("_again", "front", "maximise", "minimise", "title", "trials")

    def __init__(
        self,
        title: str,
        trials: Sequence[Trial],
        minimise: Sequence[str],
        maximise: Sequence[str],
        again: tuple[str, int, str] = ("", 0, ""),
    ) -> None:
        self._again = again
        self.title, self.trials = title, tuple(trials)
        self.minimise, self.maximise = tuple(minimise), tuple(maximise)
        self.front: tuple[Trial, ...] = tuple(self._front())

    @property
    def columns(self) -> tuple[str, ...]:
        """Objective columns."""
        return (*self.minimise, *self.maximise)

    def _costs(self, trial: Trial) -> tuple[float, ...]:
        """The objective values of a trial as costs, of which less is better."""
        return (*(trial.values[column] for column in self.minimise), *(-trial.values[column] for column in self.maximise))

    def _front(self) -> list[Trial]:
        done = [trial for trial in self.trials if trial.state == "done"]
        costs = {self._costs(trial): trial for trial in reversed(done)}  # of equal trials, the first is kept

        def is_beaten(own: tuple[float, ...]) -> bool:
            return any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in costs)

        return [trial for own, trial in sorted(costs.items(), key=lambda one: one[0]) if not is_beaten(own)]

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def _table(self, trials: Sequence[Trial]) -> tuple[list[str], list[list[str]]]:
        """Titles and cells of a table of trials."""
        keys = list(self.trials[0].at) if self.trials else []

        def cells(trial: Trial) -> list[str]:
            values = (f"{trial.values[column]:.5g}" if column in trial.values else "" for column in self.columns)
            return [str(trial.number), *(str(trial.at[key]) for key in keys), *values, trial.state]

        return ["trial", *keys, *self.columns, "state"], [cells(trial) for trial in trials]

    def table(self) -> str:
        """The Pareto front as a table."""
        heads, rows = self._table(self.front)
        lines = [heads[:-1], *(row[:-1] for row in rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(heads) - 1)]
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*text, self._sentence()])

    def _sentence(self) -> str:
        goals = [*(f"least {column}" for column in self.minimise), *(f"most {column}" for column in self.maximise)]
        states = [trial.state for trial in self.trials]
        others = [f"{states.count(state)} {state}" for state in ("impossible", "failed") if state in states]
        found = "the best is shown" if len(self.front) == 1 else f"{len(self.front)} that no other is better than in all"
        return f"{', '.join([f'{len(self)} trials', *others])}: {found} ({', '.join(goals)})"

    def chart(self, *, width: float | None = None, height: float | None = None) -> Figure:
        """Chart of the trials, with the Pareto front. For two or more columns it shows the first two against each
        other, for one column its values over the trials. With a ``width`` in points it is made for a page, as in
        `Comparison.chart`.
        """
        across, up = ("number", self.columns[0]) if len(self.columns) == 1 else self.columns[:2]
        best = {trial.number for trial in self.front}
        done = [trial for trial in self.trials if trial.state == "done"]
        points = [
            {"number": trial.number, "found": "front" if trial.number in best else "others", "x": trial.values.get(across, trial.number), "y": trial.values[up]}
            for trial in done
        ]
        axis = {"type": "quantitative", "scale": {"zero": False}}
        hues = {"field": "found", "type": "nominal", "title": None, "scale": {"domain": ["front", "others"], "range": ["#d55e00", "#9aa5b1"]}}
        encoding = {
            "x": {"field": "x", "title": "trial" if across == "number" else across, **axis},
            "y": {"field": "y", "title": up, **axis},
            "color": hues,
            "tooltip": [{"field": field} for field in ("number", "x", "y")],
        }
        line = {"transform": [{"filter": "datum.found == 'front'"}], "mark": {"type": "line", "interpolate": "step-after", "color": "#d55e00"}}
        marks: list[dict[str, Any]] = [{"mark": {"type": "point", "filled": True, "size": 50}, "encoding": {"color": hues}}]
        if across != "number" and across in self.minimise and up in self.minimise:
            marks.insert(0, line)
        spec = {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": self.title,
            "width": 480,
            "height": 320,
            "data": {"values": points},
            "encoding": {key: value for key, value in encoding.items() if key != "color"},
            "layer": marks,
        }
        caption = self._sentence()
        return Figure("front", self.title, caption, for_a_page(spec, width, height))

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes a report to a folder: ``report.html``, which needs no network, and its chart. The page has the best
        trials, the chart, all trials, and how to reproduce the search.
        """
        charts = [self.chart()] if any(trial.state == "done" for trial in self.trials) else []
        told = [{"name": one.name, "title": one.title, "caption": one.caption, "spec": one.spec} for one in charts]
        best = [trial for trial in self.trials if trial not in self.front]
        _native.page(path("folder", folder), self.title, self._sentence(), self._table([*self.front, *best]), json.dumps(told), self._again)

    def _repr_html_(self) -> str:
        heads, rows = self._table(self.front)
        return f"<p>{escape(self.title)}: {escape(self._sentence())}</p>\n{_native.sheet('Pareto front', heads[:-1], [row[:-1] for row in rows])}"

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<wordline.Search of {self.title}: {len(self)} trials, {len(self.front)} in the front>"


def search(
    title: str,
    axes: Sequence[tuple[str, list[Any]]],
    run: Run,
    minimise: Sequence[str],
    maximise: Sequence[str],
    trials: int,
    at_once: int,
    seed: int,
    again: tuple[str, int, str],
    sampler: Any = None,
    given: Any = None,
) -> Search:
    """Tries combinations. Each is chosen from the results of the previous ones."""
    columns = [*minimise, *maximise]
    optuna: Any = import_module("optuna")
    study = _study(optuna, minimise, maximise, seed, sampler, given)
    # A sampler stops the study when it has no more trials. Optuna allows this in its own loop only.
    stopped: list[bool] = []
    study.stop = lambda: stopped.append(True)
    try:
        done = _tried(optuna, study, axes, run, columns, trials, at_once, lambda: bool(stopped), given is not None)
    finally:
        del study.stop
    return Search(title, done, minimise, maximise, again)


def _tried(
    optuna: Any,
    study: Any,
    axes: Sequence[tuple[str, list[Any]]],
    run: Run,
    columns: Sequence[str],
    trials: int,
    at_once: int,
    is_over: Callable[[], bool],
    with_values: bool,
) -> list[Trial]:
    """Tries combinations that the study proposes. ``with_values`` adds the values of the keys to its trials."""
    states = optuna.trial.TrialState
    done: list[Trial] = []
    while len(done) < trials and not is_over():
        asked = [study.ask() for _ in range(min(at_once, trials - len(done)))]
        places = [[_choose(one, key, values) for key, values in axes] for one in asked]
        for one, place, told in zip(asked, places, run(columns, places), strict=True):
            at = {key: values[n] for (key, values), n in zip(axes, place, strict=True)}
            number = len(done)
            if with_values:
                one.set_user_attr("at", at)
            if "impossible" in told:
                study.tell(one, state=states.PRUNED)
                done.append(Trial(number, at, {}, "impossible", told["impossible"]))
            elif told["errors"] or None in told["means"]:
                study.tell(one, state=states.FAIL)
                wrong = "; ".join(told["errors"]) or "a column has no value"
                done.append(Trial(number, at, {}, "failed", wrong))
            else:
                study.tell(one, told["means"])
                done.append(Trial(number, at, dict(zip(columns, told["means"], strict=True)), "done", ""))
    return done


def _study(optuna: Any, minimise: Sequence[str], maximise: Sequence[str], seed: int, sampler: Any, given: Any) -> Any:
    """The study of Optuna: the given one, or a new one in memory with a given sampler or TPE."""
    directions = ["minimize"] * len(minimise) + ["maximize"] * len(maximise)
    if given is not None:
        if sampler is not None:
            refuse("sampler", "it together with optuna_study", "the sampler of the study")
        if not isinstance(given, optuna.study.Study):
            refuse("optuna_study", shown(given), "an optuna.Study")
        found = [direction.name.lower() for direction in given.directions]
        if found != directions:
            refuse("optuna_study", f"the directions {', '.join(found)}", f"{', '.join(directions)}, for {', '.join([*minimise, *maximise])}")
        return given
    if not isinstance(sampler, optuna.samplers.BaseSampler | None):
        refuse("sampler", shown(sampler), "a sampler of Optuna, such as optuna.samplers.NSGAIISampler()")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Optuna's study is in memory: the store already keeps the runs, and SQLite takes 43 ms per trial.
    return optuna.create_study(directions=directions, sampler=sampler or optuna.samplers.TPESampler(seed=seed))


def _choose(trial: Any, key: str, values: list[Any]) -> int:
    """Chooses the index of a value. Ordered numbers are a range of integers for the sampler, other values are
    categories.
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values) > 2 and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
        place: int = trial.suggest_int(key, 0, len(values) - 1)
    else:
        place = trial.suggest_categorical(key, list(range(len(values))))
    return place


def check(
    axes: Sequence[tuple[str, list[Any]]], minimise: object, maximise: object, trials: object, at_once: object, seed: object
) -> tuple[int, int, int]:
    """Rejects an invalid search. Returns trials, at_once and seed."""
    columns = [column for name, given in (("minimise", minimise), ("maximise", maximise)) for column in texts(name, given, "a list of columns")]
    if not columns:
        refuse("search", "nothing to minimise or maximise", "a column, such as minimise=[\"write_amplification\"]")
    twice = [column for n, column in enumerate(columns) if column in columns[:n]]
    if twice:
        refuse("search", f"{twice[0]} twice", "each column once")
    if not axes:
        refuse("search", "a study that varies nothing", "varied keys")
    # Chosen: the number of runs that a study may have.
    most = 1_000_000
    # Optuna's sampler passes the seed to NumPy's `RandomState`, which takes 32 bits.
    return whole("trials", trials, 1, most), whole("at_once", at_once, 1, most), whole("seed", seed, 0, 2**32 - 1)
