"""The runs of a study as tasks, which any program can carry out: another process, a cluster, or a job of a batch
system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from types import MappingProxyType
from typing import Any

from . import _native
from ._arguments import instance, path
from ._design import Designs, described
from ._handle import Handle, native_of
from ._run import Cancelled


@dataclass(frozen=True)
class Task:
    """A run of a study that is missing in its store. It can be pickled, and `carry_out` executes it anywhere."""

    name: str
    """Name of the run: a digest of everything that determines its result."""
    text: str
    """The run, as `carry_out` reads it. Paths of traces and snapshots are absolute."""
    trace: tuple[str, str, str] | None = None
    """Folder, file in this folder and SHA-256 of the recorded trace that the run replays, if any."""
    designs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Designs in Python of the study, by label."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Task, (self.name, self.text, self.trace, dict(self.designs))


@dataclass(frozen=True)
class TaskResult:
    """A task that was carried out, for `Store.add`. It can be pickled. A run that failed has a result too."""

    name: str
    """Name of the run."""
    record: str = field(repr=False)
    """The record of the run, as the store keeps it."""
    windows: str | None = field(default=None, repr=False)
    """The time series of the run, as the store keeps it."""


def carry_out(task: Task, *, traces: str | PathLike[str] | None = None, handle: Handle | None = None) -> TaskResult:
    """Executes a task. ``traces`` is the folder of recorded traces, if it differs on this machine. Other threads
    continue meanwhile. ``handle.cancel()`` ends the run with `Cancelled`, Ctrl-C with ``KeyboardInterrupt``.

    Raises an `Error` if the result would be another one than where the study is: with another version or commit of
    the package, other bytes of a trace, or another source of a design. A run that fails by itself does not raise; its
    error is in its record.

    >>> for task in study.missing("runs"):
    ...     wl.Store("runs").add(wl.carry_out(task))
    """
    instance("task", task, Task, "a task of Study.missing")
    # A class may be sent by name only, and then have another source on this machine.
    designs: Designs = {label: given and described(given[0]) for label, given in task.designs.items()}
    folder = None if traces is None else path("traces", traces)
    files, raised = _native.carry_out(task.text, folder, designs or None, native_of(handle))
    if raised is not None:
        raise raised
    if files is None:
        raise Cancelled
    return TaskResult(task.name, *files)


class Store:
    """The folder of the finished runs of studies, which is created if necessary. Several programs may use it at a
    time. ``len(store)`` is the number of its runs, and ``task in store`` tells whether it has one.
    """

    __slots__ = ("_native", "path")

    def __init__(self, path_: str | PathLike[str], /) -> None:
        self.path: str = path("store", path_)
        """Path of the folder."""
        self._native = _native.RunStore(self.path)

    def add(self, result: TaskResult) -> bool:
        """Adds a run. Returns false if the store has it already. A failed run is replaced by one that did not fail.
        Raises an `Error` if the record is damaged or of another run.
        """
        instance("result", result, TaskResult, "a result of carry_out")
        return self._native.add(result.name, result.record, result.windows)

    def merge(self, other: Store | str | PathLike[str]) -> int:
        """Copies the runs that another store has and this one does not, as ``wordline store merge``. Returns their
        number. A failed run is replaced by one that did not fail.
        """
        return self._native.merge(other.path if isinstance(other, Store) else path("other", other))[0]

    def __contains__(self, task: object) -> bool:
        return isinstance(task, Task | TaskResult) and self._native.has(task.name)

    def __len__(self) -> int:
        return self._native.count()

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path,)

    def __repr__(self) -> str:
        return f"wordline.Store({self.path!r})"
