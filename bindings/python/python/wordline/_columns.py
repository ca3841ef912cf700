"""Columns of requests and completions as NumPy arrays. This module is imported on first use, and NumPy with it."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ._arguments import refuse, shown
from ._errors import Error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Column: TypeAlias = "ArrayLike"
"""An array of integers, or one integer for all requests."""
Operations: TypeAlias = "ArrayLike"
"""An array of operations by number, or one operation for all requests, by number or name."""


class Op(IntEnum):
    """The operations and their numbers. Only zoned namespaces have the operations of zones, and these have no discards,
    write zeroes and compares.
    """

    READ = 0
    WRITE = 1
    DISCARD = 2
    FLUSH = 3
    WRITE_ZEROES = 4
    COMPARE = 5
    ZONE_APPEND = 6
    ZONE_RESET = 7
    ZONE_FINISH = 8
    ZONE_OPEN = 9
    ZONE_CLOSE = 10


NUMBERS = {op.name.lower(): int(op) for op in Op}
"""The number of each operation by its name."""

ANSWER = np.dtype(
    [
        ("time_ps", np.int64),
        ("latency_ps", np.int64),
        ("sector", np.int64),
        ("sectors", np.int64),
        ("number", np.uint32),
        ("operation", np.uint8),
        ("failed", np.bool_),
    ],
    align=True,
)
"""A completion as a NumPy record. ``time_ps`` is its time in picoseconds since the session began. ``latency_ps`` is
the latency in picoseconds. ``sector`` and ``sectors`` are the address range of the request, in units of 512 bytes.
``number`` is the number of the request, ``operation`` an `Op`.
"""


def columns(times: Column, ops: Operations, sectors: Column, lengths: Column) -> list[NDArray[np.int64]]:
    """Converts the four columns for the native part, to arrays of equal length."""
    named = {"times": times, "ops": operations(ops), "sectors": sectors, "lengths": lengths}
    whole = [_whole(name, column) for name, column in named.items()]
    try:
        return [np.ascontiguousarray(np.atleast_1d(column)) for column in np.broadcast_arrays(*whole)]
    except ValueError:
        found = ", ".join(f"{column.size} {name}" for name, column in zip(named, whole, strict=True))
        refuse("the columns", found, "arrays of one length, or one value for all")


def operations(ops: Operations) -> Any:
    """Converts names of operations to numbers."""
    array = _array("ops", ops)
    # Columns of Arrow and of Polars with text are arrays of objects, or of the kind T.
    names: list[Any] = np.atleast_1d(array).tolist() if array.dtype.kind in "UTO" and array.ndim <= 1 else []
    if not any(isinstance(name, str) for name in names):
        return ops
    unknown = [name for name in names if not isinstance(name, str) or name not in NUMBERS]
    if unknown:
        refuse("ops", shown(unknown[0]), f"one of {', '.join(NUMBERS)}")
    return np.array([NUMBERS[name] for name in names], np.int64).reshape(array.shape)


def _array(name: str, column: Any) -> NDArray[Any]:
    try:
        return np.asarray(column)
    except (TypeError, ValueError, RecursionError):  # lists of different lengths, or lists that contain themselves
        refuse(name, shown(column), "whole numbers in one dimension")


def _whole(name: str, column: Any) -> NDArray[np.int64]:
    array = _array(name, column)
    # An empty list has no numbers that could be others; NumPy makes it one of floats.
    if array.dtype.kind not in "iu" and array.size or array.ndim > 1:
        found = f"an array of {array.dtype} in {array.ndim} dimensions" if array.ndim else shown(column)
        refuse(name, found, "whole numbers in one dimension")
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        refuse(name, str(int(array.max())), f"a whole number from 0 to {np.iinfo(np.int64).max}")
    return array.astype(np.int64, copy=False)


def completions_of(records: bytes) -> NDArray[Any]:
    """The bytes of completions from the native part as an array, without a copy."""
    return np.frombuffer(records, ANSWER)


def write_trace(times: Column, ops: Operations, sectors: Column, lengths: Column) -> str:
    """Writes requests to a trace in the cache of the user, unless it is there. Returns its path, which is the same for
    the same requests.
    """
    rows = columns(times, ops, sectors, lengths)
    names = np.array([op.name.lower() for op in Op])
    if rows[1].size and int(rows[1].max()) >= len(Op):
        refuse("ops", str(int(rows[1].max())), f"a whole number from 0 to {len(Op) - 1}")
    text = io.StringIO("t_ps,op,lba,sectors\n")
    text.seek(0, io.SEEK_END)
    for row in zip(rows[0].tolist(), names[rows[1]].tolist(), rows[2].tolist(), rows[3].tolist(), strict=True):
        text.write("%d,%s,%d,%d\n" % row)
    content = text.getvalue().encode()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    file = os.path.join(cache, "wordline", "given", f"{hashlib.sha256(content).hexdigest()}.csv")
    if not os.path.exists(file):
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=os.path.dirname(file), delete=False) as beside:
                beside.write(content)
            os.replace(beside.name, file)
        except OSError as reason:
            raise Error(f"{file}: cannot write: {reason.strerror}") from reason
    return file
