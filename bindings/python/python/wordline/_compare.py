"""Comparisons of results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, overload

from . import _arguments as arguments
from . import _native
from ._arguments import refuse
from ._errors import Error
from ._figure import KINDS, Figure, charts_of, check_size, figure
from ._run import Result


class Comparison(Sequence[Result]):
    """Results side by side. The first result is the baseline. As text, it is the table of ``wordline compare``."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = tuple(results)
        self._natives = [result.native for result in results]

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, at: int) -> Result: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, at: int | slice) -> Result | tuple[Result, ...]:
        return self._results[at]

    @cached_property
    def _charts(self) -> dict[str, dict[str, Any]]:
        return charts_of(self._natives)

    @property
    def charts(self) -> list[str]:
        """Names of the charts that these results have."""
        return list(self._charts)

    def chart(self, name: str, *, width: float | None = None, height: float | None = None) -> Figure:
        """Returns the chart ``name``.

        With a ``width`` in points, such as `COLUMN`, the chart is made for a page of a paper. Its total width is then
        ``width``, its text has eight points, and it has no title. ``height`` is also in points; the default is six
        tenths of the width.
        """
        return figure(self._charts, name, width, height)

    def save_charts(
        self,
        folder: str | PathLike[str],
        kind: str = "pdf",
        *,
        width: float | None = None,
        height: float | None = None,
    ) -> list[Path]:
        """Writes every chart to a file in a folder, which is created if necessary. The file name is the name of the
        chart. ``kind`` is ``pdf``, ``svg``, ``png``, ``html`` or ``json``. Width and height are those of `chart`.
        """
        into = Path(arguments.path("folder", folder))
        arguments.one_of("kind", kind, KINDS)
        check_size(width, height)
        try:
            into.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise Error(f"{into}: cannot make: {reason.strerror}") from reason
        files = [into / f"{name}.{kind}" for name in self._charts]
        for file in files:
            self.chart(file.stem, width=width, height=height).save(file)
        return files

    def table(self, columns: int = 100) -> str:
        """The table of ``wordline compare``, for a terminal with this many columns of text."""
        return _native.comparison(self._natives, arguments.columns(columns))

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes a report to a folder: ``report.html``, which needs no network, its charts, and ``summary.json``."""
        _native.report(self._natives, arguments.path("folder", folder))

    def _repr_html_(self) -> str:
        return _native.embedded(self._natives)

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<wordline.Comparison of {', '.join(result.device for result in self._results)}>"


def compare(*results: Result) -> Comparison:
    """Compares results in a table and in charts. The first is the baseline."""
    if not results:
        refuse("compare", "no result", "one or more")
    for n, result in enumerate(results):
        arguments.instance(f"results[{n}]", result, Result, "the result of a run")
    return Comparison(results)
