"""Draws figures 11 to 16 of ReSSD as SVG, the paper's means beside ours, from the record of `ressd/volumes` in `data/results`:

    python pictures.py

Each bar is a row of the table. Figures 11 to 15 have a bar for each volume, divided by that of the baseline, and the means over the volumes at the
end, those of the other reading of when a write is answered beside them; figure 16 has the means alone. Grey is the band of a row.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import vl_convert

Json = dict[str, Any]
ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs/validation"
RECORDS = ROOT / "data/results/ressd/volumes.json"

WIDTH, HEIGHT = 520, 140
COLOURS = {"ours": "#4c78a8", "ours, the other reading": "#9ecae9", "the paper": "#222222"}
OTHER = {"programmed": "answered when programmed (second reading)", "buffer": "answered from the buffer (second reading)"}
"""The other interpretation of write completion, in names of rows."""


class Row(NamedTuple):
    """A row of the table: values relative to the baseline."""

    ours: float
    paper: float | None
    band: tuple[float, float] | None


def multiple(number: float, unit: str) -> float:
    return 1 + number / 100 if unit == "%" else number


def table() -> dict[str, Row]:
    """The rows that are numbers, by their text."""
    record = json.loads(RECORDS.read_text())[0]
    rows: dict[str, Row] = {}
    for cells in record["rows"] + record.get("folded", []):
        found = re.fullmatch(r"(-?[\d.]+) (%|times)", cells[3])
        if not found:
            continue
        unit = found[2]
        paper = re.fullmatch(r"(-?[\d.]+) (?:%|times)", cells[2])
        band = re.match(r"from (-?[\d.]+) to (-?[\d.]+)", cells[4])
        rows[cells[1]] = Row(
            multiple(float(found[1]), unit),
            multiple(float(paper[1]), unit) if paper else None,
            (multiple(float(band[1]), unit), multiple(float(band[2]), unit)) if band else None,
        )
    return rows


def bars(data: list[Json], bands: list[Json], axis: str, order: list[str], height: int = HEIGHT) -> Json:
    """Bars over the bands of their rows, and a line at the baseline."""
    x = {"field": "x", "type": "nominal", "title": None, "sort": order, "axis": {"labelAngle": -40}}
    y = {"field": "y", "type": "quantitative", "title": axis, "axis": {"tickCount": 5}}
    series = [name for name in COLOURS if any(bar["whose"] == name for bar in data)]
    scale = {"domain": series, "range": [COLOURS[name] for name in series]}
    whose = {"field": "whose", "type": "nominal", "title": None, "scale": scale}
    edges: Json = {"y": {"field": "least", "type": "quantitative"}, "y2": {"field": "most"}}
    if "x" in bands[0]:
        edges["x"] = x
    line = {"mark": {"type": "rule", "color": "#222222"}, "encoding": {"y": {"datum": 1}}, "data": {"values": [{}]}}
    drawn = {"x": x, "y": y, "xOffset": {"field": "whose", "sort": series}, "color": whose}
    layers = [
        {"data": {"values": bands}, "mark": {"type": "bar" if "x" in bands[0] else "rect", "color": "#dddddd"}, "encoding": edges},
        {"data": {"values": data}, "mark": "bar", "encoding": drawn},
        line,
    ]
    return {"width": WIDTH, "height": height, "layer": layers}


def by_volume(rows: dict[str, Row], row: str, shown: str, axis: str, other: str | None = None, inverse: bool = False) -> Json:
    """A bar for each volume of the rows `shown`, and the means of `row` and of its `other` interpretation. Values of
    `inverse` rows are inverted.
    """
    volumes = {what.split("volume = ")[1]: found.ours for what, found in rows.items() if what.startswith(f"{shown}, volume = ")}
    mean = rows[row]
    assert volumes and mean.paper is not None and mean.band is not None, row
    data = [{"x": volume, "y": round(1 / value if inverse else value, 4), "whose": "ours"} for volume, value in volumes.items()]
    data += [{"x": "mean", "y": mean.ours, "whose": "ours"}, {"x": "mean", "y": mean.paper, "whose": "the paper"}]
    if other:
        data.append({"x": "mean", "y": rows[f"{row}, {OTHER[other]}"].ours, "whose": "ours, the other reading"})
    return bars(data, [{"least": mean.band[0], "most": mean.band[1]}], axis, [*volumes, "mean"])


def means(rows: dict[str, Row], named: dict[str, str], axis: str) -> Json:
    """Means of rows, ours beside the paper's."""
    data: list[Json] = []
    bands: list[Json] = []
    for name, row in named.items():
        mean = rows[row]
        assert mean.paper is not None and mean.band is not None, row
        data += [{"x": name, "y": mean.ours, "whose": "ours"}, {"x": name, "y": mean.paper, "whose": "the paper"}]
        bands.append({"x": name, "least": mean.band[0], "most": mean.band[1]})
    return bars(data, bands, axis, list(named))


def pictures(rows: dict[str, Row]) -> dict[str, list[Json]]:
    """Charts of each picture, one below the other."""
    baseline = "RSS-RAID over its baseline"
    ratio = "RSS-RAID by its baseline"
    writes, reads = f"mean write latency, {baseline}", f"mean read latency, {baseline}"
    erase = "pages of the host for each erase"
    return {
        "fig11": [by_volume(rows, f"physical pages consumed, {ratio}", f"physical pages consumed, {ratio}", "physical pages consumed", "programmed")],
        "fig12": [by_volume(rows, f"blocks collected, {baseline}", f"blocks collected, {ratio}", "blocks collected", "programmed")],
        "fig13": [by_volume(rows, f"{erase}, {baseline}", f"blocks collected, {ratio}", "pages for each erase", "programmed", inverse=True)],
        "fig14": [
            by_volume(rows, writes, f"mean write latency, {ratio}", "write latency", "buffer"),
            by_volume(rows, reads, f"mean read latency, {ratio}", "read latency", "buffer"),
        ],
        "fig15": [free_pages(rows, f"free pages at the end, {baseline}")],
        "fig16": [
            means(
                rows,
                {
                    "writes, RSS": writes,
                    "writes, MLC": "mean write latency, MLC over the baseline",
                    "reads, RSS": reads,
                    "reads, MLC": "mean read latency, MLC over the baseline",
                    "pages for each erase, RSS": f"{erase}, {baseline}",
                    "pages for each erase, MLC": f"{erase}, MLC over the baseline",
                },
                "mean, by the baseline's",
            )
        ],
    }


def free_pages(rows: dict[str, Row], row: str) -> Json:
    """Figure 15, for which the paper prints one volume and the mean."""
    chart = by_volume(rows, row, row, "free pages")
    paper = rows[f"{row}, PROJ_4"].paper
    chart["layer"][1]["data"]["values"].append({"x": "proj_4", "y": paper, "whose": "the paper"})
    return chart


def main() -> None:
    legend = {"orient": "bottom", "symbolType": "square"}
    config = {"aria": False, "background": "white", "legend": legend}
    for name, charts in pictures(table()).items():
        spec = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "vconcat": charts, "config": config}
        (DOCS / f"ressd-{name}.svg").write_text(vl_convert.vegalite_to_svg(spec) + "\n")


if __name__ == "__main__":
    main()
