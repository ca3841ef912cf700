"""Handles: progress and cancellation of runs and studies from other threads and tasks."""

from __future__ import annotations

from typing import NamedTuple

from . import _native
from ._arguments import instance


class Progress(NamedTuple):
    """The progress of a run or a study."""

    phase: str
    """What is done now: ``reading``, ``preconditioning``, ``running`` and others for a run, ``runs`` for a study.
    Empty before the beginning.
    """
    done: int
    """Amount of work done in this phase: requests, pages while the device is prepared, bytes while files are read or
    written, runs of a study.
    """
    total: int | None
    """Amount of work of the phase in the same unit; ``None`` if unknown."""

    @property
    def fraction(self) -> float | None:
        """Part of the work of the phase that is done, from 0 to 1; ``None`` if unknown."""
        return min(self.done / self.total, 1.0) if self.total else None


class Handle:
    """A handle of a run, a study or a task that another thread or asyncio task executes. It shows the progress and
    can cancel it. A cancelled run raises `Cancelled` where it was called, with the result of the requests that had
    completed. A cancelled handle also ends all that it is given to later, so one handle can end many runs.

    >>> handle = wl.Handle()
    >>> with ThreadPoolExecutor() as pool:
    ...     future = pool.submit(wl.run, "nvme-tlc", load, handle=handle)
    ...     while not future.done():
    ...         time.sleep(1)
    ...         print(handle.progress.fraction)
    """

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = _native.Stop()

    def cancel(self) -> None:
        """Cancels the work, from any thread. A run stops within a few thousand requests."""
        self._native.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._native.is_set()

    @property
    def progress(self) -> Progress:
        """The progress so far, as of a fraction of a second ago."""
        return Progress(*self._native.progress())

    def __repr__(self) -> str:
        phase, done, total = self.progress
        told = f"{phase} {done}{'' if total is None else f' of {total}'}" if phase else "not begun"
        return f"<wordline.Handle: {told}{', cancelled' if self.is_cancelled else ''}>"


def native_of(handle: Handle | None) -> _native.Stop:
    """The handle in the native part; a new one without a handle."""
    if handle is None:
        return _native.Stop()
    return instance("handle", handle, Handle, "a wl.Handle")._native  # pyright: ignore[reportPrivateUsage]
