"""Logs: other libraries import them without a copy."""

from pathlib import Path
from typing import Any

import pytest

import wordline as wl

# These packages have no type annotations.
parquet: Any = pytest.importorskip("pyarrow.parquet")

LOAD = wl.Workload("mixed-70-30", requests=3_000)


def logged() -> wl.Log:
    log = wl.run("tiny", LOAD, seed=1, log=True, warm_up="none").log
    assert log is not None
    return log


def addresses(table: Any) -> list[int]:
    """Memory addresses of the columns of a PyArrow table."""
    return [chunk.buffers()[-1].address for column in table.columns for chunk in column.chunks]


def test_a_log_has_the_rows_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    wl.run("tiny", LOAD, seed=1, log=file, warm_up="none")
    log, read = logged().to_arrow(), parquet.read_table(file)
    names = [op.name.lower() for op in wl.Op]
    assert log.num_rows == read.num_rows == 3_000
    for column in log.column_names:
        expected: list[Any] = read[column].to_pylist()
        if column == "operation":
            expected = [names[number] for number in expected]
        assert log[column].to_pylist() == expected, column


def test_a_log_is_not_copied() -> None:
    log = wl.run("fixed-latency", wl.Workload("randread-4k", requests=200_000), log=True).log
    assert log is not None
    taken = [addresses(log.to_arrow()) for _ in range(2)]
    assert taken[0] == taken[1], "each time the same memory"
    # A copy would have other addresses, because the original still exists.
    kept, frame = log.to_arrow(), log.to_polars()
    for name in ("submitted_ps", "latency_ps", "sector", "sectors"):
        chunks: list[Any] = [chunk.to_numpy(allow_copy=False) for chunk in frame[name].get_chunks()]
        assert len(chunks) == 2 and [chunk.ctypes.data for chunk in chunks] == addresses(kept.select([name])), name


def test_a_log_outlives_its_run() -> None:
    table = logged().to_arrow()
    assert table.num_rows == 3_000 and table["latency_ps"].to_pylist()[0] > 0
    frame = logged().to_polars()
    assert frame.shape == (3_000, 6) and frame["latency_ps"].min() is not None


def test_without_being_asked_a_run_logs_nothing() -> None:
    assert wl.run("tiny", LOAD).log is None
    assert len(logged()) == 3_000 and "3,000" in repr(logged())
