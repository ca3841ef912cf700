"""Comparisons and charts."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import wordline as wl
from wordline import _native

LOAD = wl.Workload("mixed-70-30", requests=2_000)


@pytest.fixture(scope="module")
def compared() -> wl.Comparison:
    return wl.compare(*(wl.run(wl.Device("tiny", {"ftl.over_provisioning": share}), LOAD, seed=1) for share in (0.25, 0.4)))


def test_results_stand_side_by_side(compared: wl.Comparison, tmp_path: Path) -> None:
    assert len(compared) == 2 and compared[0].device == "tiny" and len(compared[:1]) == 1
    assert "write amplification" in str(compared)
    compared.report(tmp_path / "out")
    assert len(json.loads((tmp_path / "out/summary.json").read_text())) == 2


def test_every_chart_is_a_figure(compared: wl.Comparison) -> None:
    assert {"latency-tail", "latency-distribution"} <= set(compared.charts)
    for name in compared.charts:
        figure = compared.chart(name)
        assert figure.title and figure.caption
        # Altair validates each row by the schema of Vega-Lite, so one row is kept.
        values = figure.spec["data"]["values"][:1]
        drawn = replace(figure, spec={**figure.spec, "data": {"values": values}}).chart.to_dict()
        assert "mark" in drawn or "layer" in drawn


def test_a_figure_for_a_page_is_as_wide_as_its_column(compared: wl.Comparison, tmp_path: Path) -> None:
    figure = compared.chart("latency-tail", width=wl.COLUMN)
    for end in ("pdf", "svg", "png", "html", "json"):
        figure.save(tmp_path / f"tail.{end}")
    box = re.search(rb"/MediaBox \[([^\]]*)\]", (tmp_path / "tail.pdf").read_bytes())
    assert box is not None and abs(float(box[1].split()[2]) - wl.COLUMN) < 1, box
    assert "title" not in figure.spec and "title" in compared.chart("latency-tail").spec
    assert compared[0].chart("latency-tail", width=wl.PAGE, height=200).spec["height"] == 200


def test_widths_are_those_of_the_command_line() -> None:
    assert pytest.approx(_native.widths()) == (wl.COLUMN, wl.PAGE)


def test_all_charts_are_written_for_a_page(tmp_path: Path) -> None:
    # Short runs: Altair validates each row.
    load = wl.Workload("mixed-70-30", requests=100)
    compared = wl.compare(*(wl.run("tiny", load, seed=seed) for seed in (1, 2)))
    files = compared.save_charts(tmp_path / "figures", "svg", width=wl.COLUMN)
    assert [file.stem for file in files] == compared.charts
    assert {"channels", "latency-max"} <= set(compared.charts)
    assert all("<svg" in file.read_text()[:200] for file in files)


def test_an_unknown_chart_is_refused_with_those_that_there_are(compared: wl.Comparison) -> None:
    with pytest.raises(wl.ConfigError, match="chart: found 'tail', wanted one of latency-distribution"):
        compared.chart("tail")
    with pytest.raises(wl.ConfigError, match="width: found 219, wanted a number from 220"):
        compared.chart("latency-tail", width=219)
    with pytest.raises(wl.ConfigError, match="compare: found no result"):
        wl.compare()
