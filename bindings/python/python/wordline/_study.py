"""Studies: runs of a device and a workload over varied keys. Each combination runs with several seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arguments as arguments
from . import _native
from ._arguments import refuse, shown
from ._arrow import Arrow, NativeRows
from ._design import Design, Designs, check_restored, described
from ._device import Device
from ._handle import Handle, native_of
from ._results import Unknown
from ._run import Cancelled, Interrupted, is_cancelled
from ._task import Task
from ._workload import Workload, keys_of

if TYPE_CHECKING:
    from ._search import Search
    from ._table import Value


class Plan(NamedTuple):
    """The work of a study."""

    runs: int
    """Number of runs that are known to be needed, including finished ones: runs of the first seeds, and of further
    seeds as far as the present results require them.
    """
    done: int
    """Number of finished runs."""
    failed: int
    """Number of failed runs; they count as finished."""
    seconds_left: float | None
    """Estimated time of the remaining runs on one core in seconds, from the mean time of the finished runs. ``None``
    if no run is finished.
    """
    memory: int
    """Memory of the largest run in bytes."""
    at_once: int | None
    """Number of runs of that size that fit into the memory budget. ``None`` if the study has no budget."""
    further: int
    """Maximum number of runs that `repeat.until` may add."""


@dataclass(frozen=True)
class Cell:
    """A column of a combination, over its seeds."""

    mean: float | None
    """Mean over the seeds; ``None`` if no run has a value."""
    half: float | None
    """Half-width of the 95 % confidence interval of the mean; ``None`` with a single seed."""
    values: tuple[float, ...]
    """The value of each seed."""


@dataclass(frozen=True)
class Row:
    """A combination of the varied keys."""

    at: Mapping[str, Any]
    """Values of the varied keys."""
    columns: Mapping[str, Cell]
    """The columns of the study."""
    differences: Mapping[str, Cell]
    """Differences to the baseline row of the study, seed by seed. Empty if the study has no baseline."""
    seeds: int
    """Number of finished runs."""
    errors: tuple[str, ...]
    """Error messages of the failed runs."""
    unknown: tuple[Unknown, ...] = ()
    """Columns that have no value in some of the runs, with reasons. Their cells have no mean."""


class Runs(NativeRows):
    """The finished runs of a study as an Arrow table, with a row for each run: the varied keys (numbers, or texts),
    ``seed``, ``state`` (``done`` or ``failed``), ``run`` (the name in the store), and every number of its result by its
    dotted name, null where a run has no value.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<wordline.Runs: {len(self):,} runs>"


class StudyTable(Arrow):
    """The finished runs of a study, with a row for each combination. As text, it is the table of ``wordline sweep``.

    In the columns of Arrow it has the varied keys (numbers, or texts), ``seeds`` (number of finished runs),
    ``failed`` (number of failed runs), and for each column of the study its mean and, as ``NAME.half``, half of the
    95 % confidence interval of the mean; null without a value. With a baseline, ``NAME.difference`` and
    ``NAME.difference.half`` follow.
    """

    __slots__ = ("_native", "axes", "missing", "notes", "rows", "title")

    def __init__(self, native: _native.StudyTable) -> None:
        whole: dict[str, Any] = json.loads(native.json())
        self._native = native
        self.title: str = whole["title"]
        self.axes: tuple[str, ...] = tuple(whole["axes"])
        self.missing: int = whole["missing"]
        """Number of runs that are not finished."""
        self.notes: tuple[tuple[str, int], ...] = tuple((note["text"], note["runs"]) for note in whole["notes"])
        """Notes of the runs. Each kind of note appears once, with the number of runs that have it."""
        self.rows: tuple[Row, ...] = tuple(_row(row) for row in whole["rows"])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _arrow(self) -> _native.ArrowTable:
        return self._native.combinations()

    @property
    def runs(self) -> Runs:
        """The finished runs, with a row for each run and all of its numbers."""
        return Runs(self._native.runs())

    def write_runs(self, path: str | PathLike[str]) -> None:
        """Writes a file with a row for each run and all of its numbers. The file extension selects CSV or Parquet."""
        self._native.write_runs(arguments.path("path", path))

    def table(self, columns: int = 100) -> str:
        """The table of ``wordline sweep``, for a terminal with this many columns of text."""
        return self._native.table(arguments.columns(columns))

    def _repr_html_(self) -> str:
        told = [f"{len(self.rows)} combinations", *([f"{self.missing} runs are missing"] if self.missing else [])]
        return f"<p>{escape(self.title)}: {', '.join(told)}</p>\n{self._native.html()}"

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
    """Many runs over varied keys. A study is a TOML file of ``wordline sweep`` (docs/studies.md), or a dict of its
    keys. In a dict, ``device`` may be a `Device`, ``workload`` a `Workload`, and values may be arrays of NumPy and ranges.
    Given requests are kept as a trace in the cache of the user (``$XDG_CACHE_HOME/wordline/given``), which is named by
    its content; their times count from the first. A ``design`` in Python is used in all runs. In a dict, the key ``design`` can be varied over several designs
    and ``None``.

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
            keys, designs = _labelled(study, design)
            self._become(_native.Study.of_keys("study", keys, designs), ("study", keys, designs))
        else:
            if not arguments.is_of(study, str | PathLike):
                refuse("study", shown(study), "a path or a dict of keys")
            file = arguments.path("study", study)
            designs = _described("", design)
            self._become(_native.Study.file(file, designs), (file, Path(file).read_text(), designs))

    def _become(self, native: _native.Study, made: tuple[str, Mapping[str, Value] | str, Designs]) -> None:
        """Takes a study of the native part, and the name, the content and the designs that it was made from."""
        self._native, self._made, self._designs, self._is_tried = native, made, made[2], False

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._made

    @property
    def title(self) -> str:
        """Title of the study."""
        return self._native.title

    def plan(
        self,
        *,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        traces: str | PathLike[str] | None = None,
    ) -> Plan:
        """Computes the work of the study without running anything."""
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
        handle: Handle | None = None,
    ) -> StudyTable:
        """Executes the runs that are missing in the folder ``store``, or all runs without a store. Runs are parallel
        on ``threads`` threads; 0 uses all cores.

        A failed run is stored with its error and does not stop the study. ``again`` repeats failed runs. Ctrl-C ends
        the study with `KeyboardInterrupt`; the runs finished so far are in the store.

        With a Dask ``client`` (``distributed.Client``), its workers execute the runs. The store stays on this
        machine.

        A `Handle` shows the number of finished runs to other threads. They can cancel the study with it, which then
        raises `Cancelled`; not with a ``client``.
        """
        given = {**_settings(store, seeds, traces, threads, again), "stop": native_of(handle)}
        self._try_designs()
        with _place(client, self._designs) as place:
            return _table_of(self._native.run(given, place), handle)

    def missing(
        self,
        store: str | PathLike[str] | None = None,
        *,
        seeds: int | None = None,
        traces: str | PathLike[str] | None = None,
        shard: tuple[int, int] | None = None,
    ) -> list[Task]:
        """The runs that the folder ``store`` does not have, as tasks for any program that executes Python functions:
        processes, joblib, Dask, Ray, or the jobs of a batch system. Each is one call of `carry_out`, and `Store.add`
        stores its result. `run` with this store then makes the table.

        With ``shard=(i, n)``, only the runs of part ``i`` of ``n``, counted from 1, as with ``wordline sweep
        --shard i/n``. The parts do not depend on the runs that are finished. With ``repeat.until``, the results of
        these runs decide whether more are missing.
        """
        if shard is not None:
            whole: Any = shard
            if not isinstance(whole, tuple) or len(whole) != 2:  # pyright: ignore[reportUnknownArgumentType]
                refuse("shard", shown(shard), "two numbers, such as (2, 8)")
            shard = arguments.whole("shard[0]", shard[0], 1, _MOST), arguments.whole("shard[1]", shard[1], 1, _MOST)
        self._try_designs()
        tasks = self._native.missing(_settings(store, seeds, traces), shard)
        return [Task(*one, self._designs) for one in tasks]

    async def run_async(
        self,
        *,
        store: str | PathLike[str] | None = None,
        seeds: int | None = None,
        threads: int = 0,
        again: bool = False,
        traces: str | PathLike[str] | None = None,
        handle: Handle | None = None,
    ) -> StudyTable:
        """Executes the study as `run` does, in a thread of its own, while other asyncio tasks continue. If the task
        is cancelled, the study stops before the cancellation completes: each run stops within a few thousand
        requests. The runs finished so far are in the store.
        """
        from ._async import in_thread

        given = _settings(store, seeds, traces, threads, again)

        def work(stop: _native.Stop) -> tuple[_native.StudyTable | None, BaseException | None]:
            self._try_designs()
            return self._native.run({**given, "stop": stop}, None)

        return _table_of(await in_thread(work, native_of(handle)), handle)

    def _try_designs(self) -> None:
        """Tests each design once before it runs. A design that changes in a snapshot would give different results on
        other machines.
        """
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
        sampler: Any = None,
        optuna_study: Any = None,
    ) -> Search:
        """Searches for values of the varied keys that are best in the given columns. It uses Optuna (the extra
        ``search``) and tries ``trials`` combinations, ``at_once`` of them in parallel. Each is chosen from the
        results of the previous ones. An invalid combination is pruned. Runs are stored and reused as by `run`. Equal
        ``seed`` and ``at_once`` give equal trials.

        A ``sampler`` of Optuna replaces TPE and its ``seed``. With an ``optuna_study`` the trials are added to this
        study of Optuna, which may have a storage, callbacks of a dashboard, and earlier trials to learn from. Its
        directions are those of ``minimise``, then of ``maximise``. Its parameters are the indices of the values; the
        values are the user attribute ``at`` of a trial.

        >>> found = study.search(minimise=["host.read_latency_us.p99"], maximise=["wear.terabytes_expected"], trials=40)
        >>> for trial in found.front:
        ...     print(trial.at, trial.values)
        """
        from tempfile import TemporaryDirectory

        from ._search import check, search

        trials, at_once, seed = check(self._native.axes(), minimise, maximise, trials, at_once, seed)
        given = _settings(store, seeds, traces, threads)
        self._try_designs()
        with TemporaryDirectory() as passing, _place(client, self._designs) as place:
            # If the user gives no store, the trials share a temporary one.
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
            told = ", ".join(f"{key}={value!r}" for key, value in {**asked, "seeds": given["seeds"]}.items() if value not in ([], None))
            # The configuration of a study that was made from a dict is shown as a file.
            file = self._made[0] if isinstance(self._made[1], str) else "study.toml"
            again = f"wl.Study({file!r}).search({told})", seed, self._native.text
            return search(self.title, self._native.axes(), run, minimise, maximise, trials, at_once, seed, again, sampler, optuna_study)


_MOST = 2**32 - 1
# Limit of the native part, which has 32-bit numbers of seeds and threads.


def _settings(store: object, seeds: object, traces: object, threads: object = 0, again: object = False) -> dict[str, object]:
    """Checks the options of a study, and returns them for the native part."""
    return {
        "store": None if store is None else arguments.path("store", store),
        "seeds": None if seeds is None else arguments.whole("seeds", seeds, 1, _MOST),
        "traces": None if traces is None else arguments.path("traces", traces),
        "threads": arguments.whole("threads", threads, 0, _MOST),
        "again": arguments.flag("again", again),
    }


def _table_of(ran: tuple[_native.StudyTable | None, BaseException | None], handle: Handle | None = None) -> StudyTable:
    """Returns the table of a study, or raises the exception that ended it early."""
    table, raised = ran
    if raised is not None:
        raise raised
    made = None if table is None else StudyTable(table)
    if is_cancelled(handle, raised) and (made is None or made.missing):
        raise Cancelled
    if made is None:
        raise Interrupted(None)
    return made


def _restored(name: str, study: Mapping[str, Value] | str, designs: Designs) -> Study:
    made = Study.__new__(Study)
    native = _native.Study.of_text(name, study, designs) if isinstance(study, str) else _native.Study.of_keys(name, study, designs)
    made._become(native, (name, study, designs))  # pyright: ignore[reportPrivateUsage]
    return made


def _described(label: str, design: Design | None) -> Designs:
    """A design by label, with the text of everything on which a run with it depends. Empty without a design."""
    return {} if design is None else {label: described(design)}


def _labelled(study: Mapping[str, Any], design: Design | None) -> tuple[dict[str, Any], Designs]:
    """The keys of a study, with each design replaced by its label, and the designs by label."""
    keys, designs = _plain(study), _described("", design)
    axes: Any = keys.get("vary", [])
    varied: list[Any] = [axis for axis in axes if _is_of_designs(axis)] if _is_list(axes) else []
    if not varied:
        return keys, designs
    if design is not None:
        refuse("design", "it together with the varied key `design`", "one of them", of="study: ")
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


def _plain(study: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study, with a device and a workload as the keys that describe them."""
    keys = dict(study)
    device, load = keys.get("device"), keys.get("workload")
    if isinstance(device, Device):
        if "preset" in keys:
            refuse("preset", "it together with a Device", "one of them", of="study: ")
        keys["device"] = device.get("")
    if isinstance(load, Workload):
        found = keys_of(load)
        if found is None:
            refuse("workload", shown(load), "a workload that is not drawn, which other processes can make again", of="study: ")
        keys["workload"] = found
    return keys


def _is_of_designs(axis: Any) -> bool:
    return _is_mapping(axis) and bool(axis.get("key") == "design")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _label(design: Design | None) -> str:
    return "none" if design is None else repr(design)


@contextmanager
def _place(client: Any, designs: Designs) -> Generator[_native.Place | None]:
    """Executor of runs on a Dask client; ``None`` without a client."""
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
