"""Charts of results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from . import _arguments as arguments
from . import _native
from ._arguments import refuse, shown
from ._errors import Error

COLUMN = 84 / 25.4 * 72
"""Width of a column of a two-column paper in points: 84 mm, as Springer requires. It also fits columns of ACM (85 mm)
and IEEE (89 mm). Default of ``wordline run --charts pdf``.
"""
PAGE = 174 / 25.4 * 72
"""Width of a page of a two-column paper in points: 174 mm, as with ``--charts-width page``."""

KINDS = ("pdf", "svg", "png", "html", "json")
"""File extensions of charts."""

_LEAST_POINTS, _MOST_POINTS = {"width": 220.0, "height": 36.0}, 14_400.0
# Smallest and largest sizes in points. Chosen: below them legends are cut, and axes do not fit; 200 inches, the largest
# PDF page (ISO 32000-1, annex C.2).


def check_size(width: float | None, height: float | None) -> None:
    """Rejects an invalid width or height."""
    for name, points in (("width", width), ("height", height)):
        if points is not None:
            arguments.number(name, points, _LEAST_POINTS[name], _MOST_POINTS)


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


def charts_of(results: Sequence[_native.Summary]) -> dict[str, dict[str, Any]]:
    """Returns the charts that results have, by name."""
    return {chart["name"]: chart for chart in json.loads(_native.charts(results))}


def figure(charts: Mapping[str, dict[str, Any]], name: str, width: float | None, height: float | None) -> Figure:
    """Returns one of the charts, scaled to a size if one is given."""
    found = dict(charts[arguments.one_of("chart", name, charts)])
    found["spec"] = for_a_page(found["spec"], width, height)
    return Figure(**found)


def for_a_page(spec: dict[str, Any], width: float | None, height: float | None) -> dict[str, Any]:
    """Scales a chart to a total size in points, and removes the title. Returns it unchanged if no size is given."""
    check_size(width, height)
    if width is None and height is None:
        return spec
    across: float = spec["width"] if width is None else width
    made: dict[str, Any] = json.loads(_native.for_a_page(json.dumps(spec), across, height))
    return made
