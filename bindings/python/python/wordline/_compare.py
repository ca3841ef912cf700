"""Comparisons of results, and their charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, overload

from . import _arguments as arguments
from . import _native
from ._arguments import refuse, shown
from ._errors import Error

if TYPE_CHECKING:
    from ._run import Result

COLUMN = 84 / 25.4 * 72
"""Width of a column of a two-column paper in points: 84 mm, as Springer requires. It also fits columns of ACM (85 mm)
and IEEE (89 mm). Default of ``wordline run --charts pdf``.
"""
PAGE = 174 / 25.4 * 72
"""Width of a page of a two-column paper in points: 174 mm, as with ``--charts-width page``."""


KINDS = ("pdf", "svg", "png", "html", "json")
"""File extensions of charts."""

MOST_COLUMNS = 65_535
"""Maximum number of text columns of a terminal: the limit of Unix (`struct winsize`)."""

_LEAST_POINTS, _MOST_POINTS = 36.0, 14_400.0
# Smallest and largest size in points. Chosen: half an inch, below which an axis does not fit; 200 inches, the largest
# PDF page (ISO 32000-1, annex C.2).


def _check_size(width: float | None, height: float | None) -> None:
    """Rejects an invalid width or height."""
    for name, points in (("width", width), ("height", height)):
        if points is not None:
            arguments.number(name, points, _LEAST_POINTS, _MOST_POINTS)


@dataclass(frozen=True)
class Figure:
    """A chart in Vega-Lite. A notebook displays it if Altair is installed."""

    name: str
    """Name of the chart, and of its file in a report."""
    title: str
    """Title. A figure with a given width has none, because the caption of the page replaces it."""
    caption: str
    """Caption."""
    spec: dict[str, Any]
    """Vega-Lite specification, including the data."""

    @property
    def chart(self) -> Any:
        """The chart as an Altair object, which can be changed and saved in more ways."""
        altair: Any = import_module("altair")  # Altair's own types are incomplete
        return altair.Chart.from_dict(self.spec)

    def save(self, path: str | PathLike[str], *, scale: float = 1, ppi: int = 300) -> None:
        """Writes the chart to a file. The file extension selects PDF, SVG, PNG (with ``ppi`` pixels per inch), HTML
        or JSON.
        """
        file = arguments.path("path", path)
        kind = Path(file).suffix.removeprefix(".")
        if kind not in KINDS:
            refuse("path", shown(path), f"a name that ends in one of {', '.join(f'.{kind}' for kind in KINDS)}")
        arguments.number("scale", scale, 0.01, 100)
        arguments.whole("ppi", ppi, 1, 2_400)
        more = {"ppi": ppi} if kind == "png" else {}
        try:
            self.chart.save(file, scale_factor=scale, **more)
        except OSError as reason:
            raise Error(f"{file}: cannot write: {reason.strerror or reason}") from reason

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Any:
        return self.chart._repr_mimebundle_(include, exclude)


class Comparison(Sequence["Result"]):
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
        return {chart["name"]: chart for chart in json.loads(_native.charts(self._natives))}

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
        found = dict(self._charts[arguments.one_of("chart", name, self._charts)])
        found["spec"] = for_a_page(found["spec"], width, height)
        return Figure(**found)

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
        _check_size(width, height)
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
        return _native.comparison(self._natives, arguments.whole("columns", columns, 1, MOST_COLUMNS))

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes a report to a folder: ``report.html``, which needs no network, its charts, and ``summary.json``."""
        _native.report(self._natives, arguments.path("folder", folder))

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<wordline.Comparison of {', '.join(result.device for result in self._results)}>"


def compare(*results: Result) -> Comparison:
    """Compares results in a table and in charts. The first is the baseline."""
    from ._run import Result

    if not results:
        refuse("compare", "no result", "one or more")
    for n, result in enumerate(results):
        arguments.instance(f"results[{n}]", result, Result, "the result of a run")
    return Comparison(results)


def for_a_page(spec: dict[str, Any], width: float | None, height: float | None) -> dict[str, Any]:
    """Scales a chart to a total size in points, and removes the title. Returns it unchanged if no size is given."""
    _check_size(width, height)
    if width is None and height is None:
        return spec
    across: float = spec["width"] if width is None else width
    made: dict[str, Any] = json.loads(_native.for_a_page(json.dumps(spec), across, height))
    return made
