"""Tables in the columns of Arrow."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _native
from ._record import items_of

if TYPE_CHECKING:
    import polars


class Arrow:
    """Rows in the columns of Arrow, which other libraries import without a copy: ``polars.DataFrame(it)``,
    ``pyarrow.table(it)``, ``duckdb.table("it")``, and any library that supports the PyCapsule interface.
    """

    __slots__ = ()

    @abstractmethod
    def _arrow(self) -> _native.ArrowTable:
        """The table in the native part."""

    def __arrow_c_schema__(self) -> object:
        return self._arrow().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars data frame. Polars is the extra ``logs``."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """The rows as a PyArrow table."""
        pyarrow: Any = import_module("pyarrow")  # the package has no types
        return pyarrow.table(self)


class NativeRows(Arrow):
    """Rows that the native part keeps."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.ArrowTable) -> None:
        self._native = native

    def _arrow(self) -> _native.ArrowTable:
        return self._native

    def __len__(self) -> int:
        return len(self._native)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.columns


class WindowColumns(Arrow):
    """The windows of a run as rows. ``begin_seconds`` is the begin of a window, in seconds from the first measured
    request; the other columns are the fields of a `Window`. ``free`` (a fraction), ``victim_pages`` and
    ``victim_valid_pages`` follow if the device reports them.
    """

    __slots__ = ()

    def _arrow(self) -> _native.ArrowTable:
        of: Any = self
        begins = [of.width_seconds * n for n in range(len(of.windows))]
        columns: list[tuple[str, list[Any]]] = [("begin_seconds", begins)]
        columns += [(one.name, [getattr(window, one.name) for window in of.windows]) for one in fields(items_of(type(self), "windows"))]
        courses = [(one.name, getattr(of.course, one.name)) for one in fields(of.course) if one.name != "dies"]
        columns += [(name, list(values)) for name, values in courses if len(values) == len(begins) > 0]
        return _native.ArrowTable.of_columns(columns)
