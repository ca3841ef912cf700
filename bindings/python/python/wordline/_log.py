"""The log of every request of a run."""

from __future__ import annotations

from typing import Any

from . import _native
from ._arrow import NativeRows


class Log(NativeRows):
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

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (_native.pack_log(self._native),)

    def __copy__(self) -> Log:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Log:
        return self  # nothing can change it

    def __repr__(self) -> str:
        return f"<wordline.Log of {len(self):,} requests>"


def _unpacked(batches: list[list[bytes]]) -> Log:
    return Log(_native.unpack_log(batches))
