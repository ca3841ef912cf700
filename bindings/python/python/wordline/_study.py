"""Studies: a device and a workload of which some keys are varied, each combination run with several seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._errors import Interrupted

if TYPE_CHECKING:
    from ._table import Value


class Plan(NamedTuple):
    """What a study has to do."""

    runs: int
    """Runs of the first seeds, those that are over among them."""
    done: int
    """Runs that are over."""
    failed: int
    """Those of these that failed."""
    seconds_left: float | None
    """How long the others may take on one core, by the mean of those that are over; none where none is."""


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
    seeds: int
    """How many runs are over."""
    errors: tuple[str, ...]
    """The errors of those that failed."""


class StudyTable:
    """The runs of a study that are over: a row for each combination. The text of it is the table of the command line."""

    __slots__ = ("_native", "axes", "missing", "rows", "title")

    def __init__(self, native: _native.StudyTable) -> None:
        whole: dict[str, Any] = json.loads(native.json())
        self._native = native
        self.title: str = whole["title"]
        self.axes: tuple[str, ...] = tuple(whole["axes"])
        self.missing: int = whole["missing"]
        """Runs that are not over."""
        self.rows: tuple[Row, ...] = tuple(_row(row) for row in whole["rows"])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def write_runs(self, path: str | PathLike[str]) -> None:
        """Writes a row for each run with all of its numbers: as CSV or Parquet, by the ending of the name."""
        self._native.write_runs(path)

    def table(self, columns: int = 100) -> str:
        """The table of the command line, for this many columns of text."""
        return self._native.table(columns)

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<wordline.StudyTable of {self.title}: {len(self.rows)} combinations of {', '.join(self.axes)}>"


def _row(row: dict[str, Any]) -> Row:
    columns = {name: Cell(cell["mean"], cell["half"], tuple(cell["values"])) for name, cell in row["columns"].items()}
    return Row(row["at"], columns, row["seeds"], tuple(row["errors"]))


class Study:
    """Many runs over varied keys, in the words of ``wordline sweep`` (docs/studies.md): a TOML file, or a dict of its keys.

    >>> study = wl.Study({
    ...     "preset": "tiny",
    ...     "workload": {"name": "randwrite-4k", "requests": 20_000},
    ...     "vary": [{"key": "ftl.over_provisioning", "values": [0.2, 0.3, 0.4]}],
    ...     "columns": ["write_amplification"],
    ... })
    >>> for row in study.run(seeds=3):
    ...     print(row.at["ftl.over_provisioning"], row.columns["write_amplification"].mean)
    """

    __slots__ = ("_native",)

    def __init__(self, study: str | PathLike[str] | Mapping[str, Value]) -> None:
        made = _native.Study.of_keys("study", study) if isinstance(study, Mapping) else _native.Study.file(study)
        self._native = made

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
        return Plan(*self._native.plan({"store": store, "seeds": seeds, "traces": traces}))

    def run(
        self,
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
        """
        given: dict[str, object] = {"store": store, "seeds": seeds, "threads": threads, "again": again, "traces": traces}
        table, raised = self._native.run(given)
        if raised is not None:
            raise raised
        if table is None:
            raise Interrupted(None)
        return StudyTable(table)
