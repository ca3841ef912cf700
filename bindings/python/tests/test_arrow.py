"""Tests the tables that other libraries import: studies, their runs, and the windows of a run."""

from typing import Any

import polars
import pytest
from studies import KEYS as STUDY

import wordline as wl

pyarrow: Any = pytest.importorskip("pyarrow")  # the package has no types

KEYS: dict[str, Any] = {**STUDY, "columns": ["write_amplification", "host.read_latency_us.p99"]}


def test_a_table_of_a_study_has_a_row_for_each_combination() -> None:
    table = wl.Study({**KEYS, "against": {"ftl.gc.victim.policy": "greedy"}}).run(seeds=2)
    for frame in (polars.DataFrame(table), polars.DataFrame(pyarrow.table(table)), table.to_polars()):
        assert frame["ftl.over_provisioning"].to_list() == [0.2, 0.2, 0.4, 0.4]
        assert frame["ftl.gc.victim.policy"].to_list() == ["greedy", "fifo", "greedy", "fifo"]
        assert frame["seeds"].to_list() == [2] * 4 and frame["failed"].to_list() == [0] * 4
        cells = [row.columns["write_amplification"] for row in table]
        assert frame["write_amplification"].to_list() == [cell.mean for cell in cells]
        assert frame["write_amplification.half"].to_list() == [cell.half for cell in cells]
        assert frame["host.read_latency_us.p99"].null_count() == 4, "the load has no reads"
        differences = [row.differences.get("write_amplification") for row in table]
        assert frame["write_amplification.difference"].to_list() == [one.mean if one else None for one in differences]
        assert frame["write_amplification.difference"].null_count() == 2, "the baseline has none"


def test_runs_have_a_row_each_as_in_a_file(tmp_path: Any) -> None:
    table = wl.Study(KEYS).run(seeds=2)
    table.write_runs(tmp_path / "runs.parquet")
    frame, read = table.runs.to_polars(), polars.read_parquet(tmp_path / "runs.parquet")
    assert len(table.runs) == 8 and table.runs.columns[:5] == ["ftl.over_provisioning", "ftl.gc.victim.policy", "seed", "state", "run"]
    assert frame.rename({name: name.replace(".", "_") for name in frame.columns}).equals(read)
    assert frame["host.iops"].to_list()[0] > 0


def test_windows_are_rows() -> None:
    result = wl.run("tiny", wl.Workload("randwrite-4k", requests=2_000))
    frame, windows = polars.DataFrame(result.windows), result.windows.windows
    assert frame.height == len(windows) > 10
    assert frame["requests"].to_list() == [window.requests for window in windows]
    assert frame["write_latency_us"].to_list() == [window.write_latency_us for window in windows]
    assert frame["free"].to_list() == list(result.windows.course.free)
    assert frame["begin_seconds"][3] == pytest.approx(3 * result.windows.width_seconds)
    assert result.windows.to_arrow().schema == pyarrow.schema(result.windows)
    assert frame["requests"].dtype == polars.Int64 and frame["free"].dtype == polars.Float64


def test_a_table_without_rows_has_its_columns() -> None:
    result = wl.run("fixed-latency", wl.Workload("randread-4k", requests=10))
    frame = polars.DataFrame(result.windows)
    assert "free" not in frame.columns and frame["reads"].sum() == result.host.reads


def test_the_memory_of_a_table_is_not_copied() -> None:
    arrow = wl.Study(KEYS).run().runs
    addresses = [[chunk.buffers()[-1].address for column in arrow.to_arrow().columns for chunk in column.chunks] for _ in range(2)]
    assert addresses[0] == addresses[1]


def shown(value: Any) -> str:
    """What a notebook shows."""
    html: str = value._repr_html_()
    assert html.count("<table") == html.count("</table>") > 0 and "<script" not in html
    return html


def test_notebooks_show_tables() -> None:
    drive = wl.Device("tiny", {"ftl.over_provisioning": 0.4})
    load = wl.Workload("randwrite-4k-steady", requests=1_000)
    one, other = wl.run("tiny", load), wl.run(drive, load)
    assert one.digest in shown(one) and "write amplification" in shown(one)
    both = shown(wl.compare(one, other))
    assert one.digest in both and other.digest in both
    study = wl.Study({**KEYS, "title": "<b>Spare</b>", "columns": ["write_amplification"]})
    table = shown(study.run())
    assert "&lt;b&gt;Spare&lt;/b&gt;: 4 combinations" in table and "write_<wbr>amplification" in table and table.count("<tr>") == 5
    found = study.search(minimise=["write_amplification"], trials=2)
    assert "2 trials" in shown(found) and "greedy" in shown(found) or "fifo" in shown(found)
