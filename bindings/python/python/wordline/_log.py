"""The log of every request of a run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    from . import _native


class Log:
    """The log of every request of a run, in order of completion. It is an Arrow table, which other libraries import
    without a copy: ``polars.DataFrame(log)``, ``pyarrow.table(log)``, and any library that supports the PyCapsule
    interface.

    | column | meaning |
    |---|---|
    | ``submitted_ps`` | time of submission, in picoseconds since the run began |
    | ``latency_ps`` | time from submission to completion, in picoseconds |
    | ``operation`` | ``read``, ``write``, ``discard``, ``flush``, ``write_zeroes``, ``compare``, or an operation of zones such as ``zone_append`` |
    | ``sector``, ``sectors`` | first sector, and number of sectors, of 512 bytes |
    | ``failed`` | whether the request completed with an error |
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Log) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.columns

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """The log as a Polars data frame."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """The log as a PyArrow table."""
        pyarrow: Any = import_module("pyarrow")  # the package has no types
        return pyarrow.table(self)

    def __repr__(self) -> str:
        return f"<wordline.Log of {len(self):,} requests>"
