"""Results side by side, and charts of them."""

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
"""The width of a column of a paper with two columns, in points: 84 mm, as Springer asks for. Columns of ACM (85 mm) and IEEE (89 mm) hold it.
That of ``wordline run --charts pdf``.
"""
PAGE = 174 / 25.4 * 72
"""The width of a page of such a paper, in points: 174 mm. That of ``--charts-width page``."""


KINDS = ("pdf", "svg", "png", "html", "json")
"""The endings of files of charts."""

MOST_COLUMNS = 65_535
"""The most columns of text that a terminal has: as many as Unix counts in it (`struct winsize`)."""

_LEAST_POINTS, _MOST_POINTS = 36.0, 14_400.0
# Half an inch, chosen: less has no room for an axis; and 200 inches, the largest page of PDF (ISO 32000-1, annex C.2).


def _check_size(width: float | None, height: float | None) -> None:
    """Refuses a size that no page has."""
    for name, points in (("width", width), ("height", height)):
        if points is not None:
            arguments.number(name, points, _LEAST_POINTS, _MOST_POINTS)


@dataclass(frozen=True)
class Figure:
    """A chart, as Vega-Lite. In a notebook it shows itself, where Altair is there."""

    name: str
    """Its name, also that of its file in a report."""
    title: str
    """Its title. A figure of a given width is for a page that has a caption, and is without it."""
    caption: str
    """How to read it."""
    spec: dict[str, Any]
    """The Vega-Lite specification, with data."""

    @property
    def chart(self) -> Any:
        """The chart of Altair, which has more ways to change and to save it."""
        altair: Any = import_module("altair")  # its own types leave some of it open
        return altair.Chart.from_dict(self.spec)

    def save(self, path: str | PathLike[str], *, scale: float = 1, ppi: int = 300) -> None:
        """Writes it to a file: PDF, SVG, PNG (``ppi`` pixels an inch), HTML or JSON, by its ending."""
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
    """Results side by side: what the others are compared with comes first. The text of it is the table of the command line."""

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
        """The names of the charts that there are of these results."""
        return list(self._charts)

    def chart(self, name: str, *, width: float | None = None, height: float | None = None) -> Figure:
        """The chart of this name.

        With a ``width`` in points, such as `COLUMN`, it is made for a page: as wide as that in all, with text of eight points and
        without its title. Its ``height`` is then in points too; six tenths of the width if not given.
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
        """Writes each chart to a file of its name in a folder, which is made: ``pdf``, ``svg``, ``png``, ``html`` or ``json``. Width and
        height are those of `chart`.
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
        """The table of ``wordline compare``, for this many columns of text."""
        return _native.comparison(self._natives, arguments.whole("columns", columns, 1, MOST_COLUMNS))

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes ``report.html``, a page that needs no network, its charts and ``summary.json`` into a folder."""
        _native.report(self._natives, arguments.path("folder", folder))

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<wordline.Comparison of {', '.join(result.device for result in self._results)}>"


def compare(*results: Result) -> Comparison:
    """Results side by side, in a table and in charts. The first is what the others are compared with."""
    from ._run import Result

    if not results:
        refuse("compare", "no result", "one or more")
    for n, result in enumerate(results):
        arguments.instance(f"results[{n}]", result, Result, "the result of a run")
    return Comparison(results)


def for_a_page(spec: dict[str, Any], width: float | None, height: float | None) -> dict[str, Any]:
    """The chart as large as that in all, and without what the caption says; as it is where nothing is said of its size."""
    _check_size(width, height)
    if width is None and height is None:
        return spec
    across: float = spec["width"] if width is None else width
    made: dict[str, Any] = json.loads(_native.for_a_page(json.dumps(spec), across, height))
    return made
