"""Studies: a device and a workload of which some keys are varied, each combination run with several seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arguments as arguments
from . import _native
from ._arguments import refuse, shown
from ._design import Design, check_restored, described
from ._errors import Interrupted
from ._results import Unknown

if TYPE_CHECKING:
    from ._search import Search
    from ._table import Value


class Plan(NamedTuple):
    """What a study has to do."""

    runs: int
    """Runs that are known to be wanted, those that are done among them: of the first seeds, and of further ones by what is done."""
    done: int
    """Runs that are done."""
    failed: int
    """Those of these that failed."""
    seconds_left: float | None
    """How long the others may take on one core, by the mean of those that are done; none where none is."""
    memory: int
    """Bytes that the largest of the runs may take."""
    at_once: int | None
    """How many of that size go at once by the budget; none where the study has none."""
    further: int
    """The most runs that `repeat.until` may add."""


@dataclass(frozen=True)
class Cell:
    """A column of a combination over the seeds."""

    mean: float | None
    """The mean; none where no run has a value."""
    half: float | None
    """Half of the 95 % interval of the mean; none with a single seed."""
    values: tuple[float, ...]
    """The values by seed."""


@dataclass(frozen=True)
class Row:
    """A combination of the varied keys."""

    at: Mapping[str, Any]
    """The varied keys with their values."""
    columns: Mapping[str, Cell]
    """The columns of the study."""
    differences: Mapping[str, Cell]
    """How much more than in the row that the study compares with, seed by seed; empty where it compares with none."""
    seeds: int
    """How many runs are over."""
    errors: tuple[str, ...]
    """The errors of those that failed."""
    unknown: tuple[Unknown, ...] = ()
    """The columns that some of its runs cannot answer, each with the reasons; their cells have no mean."""


class StudyTable:
    """The runs of a study that are over: a row for each combination. The text of it is the table of the command line."""

    __slots__ = ("_native", "axes", "missing", "notes", "rows", "title")

    def __init__(self, native: _native.StudyTable) -> None:
        whole: dict[str, Any] = json.loads(native.json())
        self._native = native
        self.title: str = whole["title"]
        self.axes: tuple[str, ...] = tuple(whole["axes"])
        self.missing: int = whole["missing"]
        """Runs that are not over."""
        self.notes: tuple[tuple[str, int], ...] = tuple((note["text"], note["runs"]) for note in whole["notes"])
        """The notes of the runs, each kind once, with how many runs say it."""
        self.rows: tuple[Row, ...] = tuple(_row(row) for row in whole["rows"])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def write_runs(self, path: str | PathLike[str]) -> None:
        """Writes a row for each run with all of its numbers: as CSV or Parquet, by the ending of the name."""
        self._native.write_runs(arguments.path("path", path))

    def table(self, columns: int = 100) -> str:
        """The table of the command line, for this many columns of text."""
        return self._native.table(arguments.whole("columns", columns, 1, 65_535))

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<wordline.StudyTable of {self.title}: {len(self.rows)} combinations of {', '.join(self.axes)}>"


def _row(row: dict[str, Any]) -> Row:
    columns, differences = _cells(row["columns"]), _cells(row.get("differences", {}))
    unknown = tuple(Unknown(one["metric"], one["reason"]) for one in row["unknown"])
    return Row(row["at"], columns, differences, row["seeds"], tuple(row["errors"]), unknown)


def _cells(cells: dict[str, Any]) -> dict[str, Cell]:
    return {name: Cell(cell["mean"], cell["half"], tuple(cell["values"])) for name, cell in cells.items()}


class Study:
    """Many runs over varied keys, in the words of ``wordline sweep`` (docs/studies.md): a TOML file, or a dict of its keys. A ``design``
    answers in all runs; in a dict the key ``design`` may be varied, over designs and ``None``.

    >>> study = wl.Study({
    ...     "preset": "tiny",
    ...     "workload": {"name": "randwrite-4k", "requests": 20_000},
    ...     "vary": [{"key": "ftl.over_provisioning", "values": [0.2, 0.3, 0.4]}],
    ...     "columns": ["write_amplification"],
    ... })
    >>> for row in study.run(seeds=3):
    ...     print(row.at["ftl.over_provisioning"], row.columns["write_amplification"].mean)
    """

    __slots__ = ("_designs", "_is_tried", "_made", "_native")

    def __init__(self, study: str | PathLike[str] | Mapping[str, Any], *, design: Design | None = None) -> None:
        if isinstance(study, Mapping):
            keys, self._designs = _labelled(study, design)
            self._native = _native.Study.of_keys("study", keys)
            self._made: tuple[str, Mapping[str, Value] | str, _native.Designs] = "study", keys, self._designs
        else:
            if not arguments.is_of(study, str | PathLike):
                refuse("study", shown(study), "a path or a dict of keys")
            file = arguments.path("study", study)
            self._designs = _described("", design)
            self._native = _native.Study.file(file)
            self._made = file, Path(file).read_text(), self._designs
        self._is_tried = False
        if self._designs:
            self._native = self._native.with_designs(self._designs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._made

    @property
    def title(self) -> str:
        """Its title."""
        return self._native.title

    def plan(
        self,
        *,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        traces: str | PathLike[str] | None = None,
    ) -> Plan:
        """What there is to do, of which nothing is done."""
        return Plan(*self._native.plan(_settings(store, seeds, traces)))

    def run(
        self,
        client: Any = None,
        *,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        threads: int = 0,
        again: bool = False,
        traces: str | PathLike[str] | None = None,
    ) -> StudyTable:
        """Does the runs that ``store``, a folder, does not have, side by side on all cores or ``threads`` of them; without a store all.
        A run that fails is kept with its error and ends nothing; ``again`` does those once more. Ctrl-C ends the
        study with `KeyboardInterrupt`; what was over by then is in the store.

        With a ``client`` of Dask (``distributed.Client``) its workers do the runs; the store is here.
        """
        given = {**_settings(store, seeds, traces), "threads": arguments.whole("threads", threads, 0, _MOST), "again": arguments.flag("again", again)}
        self._try_designs()
        with _place(client, self._designs) as place:
            return _table_of(self._native.run(given, place))

    async def run_async(
        self,
        *,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        threads: int = 0,
        again: bool = False,
        traces: str | PathLike[str] | None = None,
    ) -> StudyTable:
        """Does what `run` does in a thread of its own, while other tasks of asyncio go on. Where its task is cancelled the study stops, each of its runs
        within some thousands of requests, before the cancellation is over; what was done by then is in the store.
        """
        from ._async import in_thread

        given = {**_settings(store, seeds, traces), "threads": arguments.whole("threads", threads, 0, _MOST), "again": arguments.flag("again", again)}

        def work(stop: _native.Stop) -> tuple[_native.StudyTable | None, BaseException | None]:
            self._try_designs()
            return self._native.run({**given, "stop": stop}, None)

        return _table_of(await in_thread(work))

    def _try_designs(self) -> None:
        """Tries each design once, before it runs: one that is another one after a snapshot would give other results elsewhere."""
        for given in () if self._is_tried else self._designs.values():
            if given is not None:
                check_restored(*given)
        self._is_tried = True

    def search(
        self,
        client: Any = None,
        *,
        minimise: Sequence[str] = (),
        maximise: Sequence[str] = (),
        trials: int,
        at_once: int = 8,
        seed: int = 0,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        threads: int = 0,
        traces: str | PathLike[str] | None = None,
    ) -> Search:
        """Looks for the values of the varied keys that are best in these columns, by Optuna (the extra ``search``): ``trials`` combinations
        in all, ``at_once`` of them side by side, each of which is chosen by what those before it gave. Runs are kept in the store and taken from it as
        those of `run`. A combination that does not hold together is pruned. Equal ``seed`` and ``at_once`` give equal trials.

        >>> found = study.search(minimise=["host.read_latency_us.p99"], maximise=["wear.terabytes_expected"], trials=40)
        >>> for trial in found.front:
        ...     print(trial.at, trial.values)
        """
        from tempfile import TemporaryDirectory

        from ._search import check, search

        check(self._native.axes(), minimise, maximise, trials, at_once, seed)
        given: dict[str, object] = {**_settings(store, seeds, traces), "threads": arguments.whole("threads", threads, 0, _MOST)}
        self._try_designs()
        with TemporaryDirectory() as passing, _place(client, self._designs) as place:
            # Without a store of the user's the trials share one that passes.
            given["store"] = given["store"] or os.path.join(passing, "runs")

            def run(columns: Sequence[str], places: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
                told, raised = self._native.run_at({**given, "columns": columns}, places, place)
                if raised is not None:
                    raise raised
                if told is None:
                    raise Interrupted(None)
                done: list[dict[str, Any]] = json.loads(told)
                return done

            asked: dict[str, object] = {"minimise": list(minimise), "maximise": list(maximise), "trials": trials, "at_once": at_once, "seed": seed}
            told = ", ".join(f"{key}={value!r}" for key, value in {**asked, "seeds": seeds}.items() if value not in ([], None))
            # The configuration of a study from a dict is told as a file.
            file = self._made[0] if isinstance(self._made[1], str) else "study.toml"
            again = f"wl.Study({file!r}).search({told})", seed, self._native.text
            return search(self.title, self._native.axes(), run, minimise, maximise, trials, at_once, seed, again)


_MOST = 2**32 - 1
# The native part has numbers of seeds and of threads in 32 bits.


def _settings(store: object, seeds: object, traces: object) -> dict[str, object]:
    """The settings of a study as the native part takes them."""
    return {
        "store": None if store is None else arguments.path("store", store),
        "seeds": None if seeds is None else arguments.whole("seeds", seeds, 1, _MOST),
        "traces": None if traces is None else arguments.path("traces", traces),
    }


def _table_of(ran: tuple[_native.StudyTable | None, BaseException | None]) -> StudyTable:
    """The table of a study, or the exception that ended it early."""
    table, raised = ran
    if raised is not None:
        raise raised
    if table is None:
        raise Interrupted(None)
    return StudyTable(table)


def _restored(name: str, study: Mapping[str, Value] | str, designs: _native.Designs) -> Study:
    made = Study.__new__(Study)
    of = _native.Study.of_text if isinstance(study, str) else _native.Study.of_keys
    native: _native.Study = of(name, study)  # type: ignore[arg-type]  # pyright: ignore
    made._native = native.with_designs(designs) if designs else native  # pyright: ignore[reportPrivateUsage]
    made._designs, made._made = designs, (name, study, designs)  # pyright: ignore[reportPrivateUsage]
    made._is_tried = False  # pyright: ignore[reportPrivateUsage]
    return made


def _described(label: str, design: Design | None) -> _native.Designs:
    """A design with all that a run with it depends on, by its label; nothing without one."""
    return {} if design is None else {label: described(design)}


def _labelled(study: Mapping[str, Any], design: Design | None) -> tuple[dict[str, Any], _native.Designs]:
    """The keys of a study with designs named by their text, and these by that text."""
    keys, designs = dict(study), _described("", design)
    axes: Any = keys.get("vary", [])
    varied: list[Any] = [axis for axis in axes if _is_of_designs(axis)] if _is_list(axes) else []
    if not varied:
        return keys, designs
    if design is not None:
        refuse("design", "it beside the varied key `design`", "one of them", of="study: ")
    given: Any = varied[0].get("values")
    values: list[Any] = list(given) if _is_list(given) else [given]
    for value in values:
        if not isinstance(value, Design | None) or not _is_list(given):
            refuse("vary.values of `design`", shown(value), "a list of designs, and None for none", of="study: ")
    labels = [_label(value) for value in values]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        refuse("vary.values of `design`", f"{twice[0]} twice", "each once", of="study: ")
    for label, value in zip(labels, values, strict=True):
        designs.update(_described(label, value) or {label: None})
    named: dict[str, Any] = {"key": "design", "values": labels, "sets": {label: {} for label in labels}}
    keys["vary"] = [named if axis is varied[0] else axis for axis in axes]
    against: Any = keys.get("against")
    if _is_mapping(against) and isinstance(against.get("design", ""), Design | None):
        keys["against"] = {**against, "design": _label(against["design"])}
    return keys, designs


def _is_of_designs(axis: Any) -> bool:
    return _is_mapping(axis) and bool(axis.get("key") == "design")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _label(design: Design | None) -> str:
    return "none" if design is None else repr(design)


@contextmanager
def _place(client: Any, designs: _native.Designs) -> Generator[_native.Place | None]:
    """The place of a client of Dask; none for this machine."""
    if client is None:
        yield None
        return
    from .cluster import Cluster

    wanted = "a client of Dask (distributed.Client)"
    for attribute in ("scheduler", "submit", "cancel"):
        if not hasattr(client, attribute):
            refuse("client", shown(client), wanted)
    place = Cluster(client, designs=designs or None)
    try:
        yield place
    finally:
        place.close()
