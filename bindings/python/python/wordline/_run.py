"""Runs and their results."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from os import PathLike
from shutil import get_terminal_size
from typing import Any, TypeAlias, TypedDict, Unpack

from . import _native
from ._arguments import path, refuse, shown, whole
from ._design import Design, checked
from ._device import Described, Device
from ._errors import Error
from ._figure import Figure, charts_of, figure
from ._log import Log
from ._results import Summary
from ._workload import Workload


@dataclass(frozen=True)
class Kept:
    """The texts of a pickled result."""

    line: str
    indented: str
    shown: str

    def json(self) -> str:
        return self.line

    def json_indented(self) -> str:
        return self.indented

    def table(self, columns: int) -> str:
        return self.shown


@dataclass(frozen=True, eq=False, repr=False)
class Result(Summary):
    """The result of a run. Its attributes have the names of the JSON. As text, it is the table of ``wordline run``.
    """

    log: Log | None = None
    """The log of every request, if the run had ``log=True``."""
    kept: _native.Summary | Kept = field(kw_only=True)
    """The result in the native part; for a pickled result, its texts."""

    @classmethod
    def of(cls, native: _native.Summary | Kept, log: _native.Log | None = None) -> Result:
        made = Summary.from_json(json.loads(native.json()))
        values = {one.name: getattr(made, one.name) for one in fields(made)}
        return cls(**values, log=None if log is None else Log(log), kept=native)

    @property
    def native(self) -> _native.Summary:
        """The result in the native part, which a pickled result does not have."""
        if isinstance(self.kept, Kept):
            raise Error("a result that was pickled: found only its numbers and its table, wanted the original result, for charts and reports")
        return self.kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the numbers and the table. Log, charts and report are lost."""
        return Result.of, (Kept(self.kept.json(), self.kept.json_indented(), self.kept.table(100)),)

    def json(self) -> str:
        """The result as JSON, in the form of the command line."""
        return self.kept.json_indented()

    def table(self, columns: int = 100) -> str:
        """The table of ``wordline run``, for a terminal with this many columns of text."""
        return self.kept.table(whole("columns", columns, 1, 65_535))

    def chart(self, name: str, *, width: float | None = None, height: float | None = None) -> Figure:
        """Returns a chart of this result; see `Comparison.chart`."""
        return figure(charts_of([self.native]), name, width, height)

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes a report to a folder: ``report.html``, which needs no network, its charts, and ``summary.json``."""
        _native.report([self.native], path("folder", folder))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        """The values that distinguish results. Repetitions of a run differ only in wall-clock times."""
        return self.configuration, self.workload, self.seed, self.outcome, self.digest, self.host.requests

    def __str__(self) -> str:
        return self.table(get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        outcome = f"{self.outcome}, seed {self.seed}, digest {self.digest}"
        return f"<wordline.Result of {self.workload.name} on {self.device}: {outcome}>"


class Interrupted(KeyboardInterrupt):
    """The user stopped the run."""

    result: Result | None
    """Result of the requests that completed before the stop; `None` if none did."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__("the run was stopped")
        self.result = result


class Start(TypedDict, total=False):
    """Options of a run or a session: preparation of the device, warm-up, end, snapshots and power cuts."""

    precondition: str | float
    """Initial state of the device: ``"empty"``, ``"filled"``, a fraction to fill, ``"steady-state"`` (of uniform
    writes), ``"steady-state:0.5"`` (over this fraction of the logical pages), ``"workload"`` (aged by the workload
    itself), or ``"workload:3"`` (aged by this many drive writes). Default: the state that the workload asks for.
    """
    warm_up: str | int
    """Warm-up, whose requests are not measured: a number of requests, a time such as ``"20ms"``, ``"rule"`` (until
    the load is steady by MSER-5), or ``"none"``. Default: ``"rule"`` for a run of a generated workload, unless the
    device is empty; otherwise ``"none"``.
    """
    until: str
    """A metric and a fraction, such as ``"p99:2%"``. The run ends when the half-width of the metric's 95 % confidence
    interval is this fraction of its mean.
    """
    from_snapshot: str | PathLike[str]
    """Snapshot from which the device is restored, instead of a precondition."""
    save_snapshot: str | PathLike[str]
    """File in which the device is saved after the run."""
    cut_power_after: int
    """Number of completed requests after which the power is cut. The device recovers, and the run continues."""
    cut_power_at: str
    """Time of the run at which the power is cut, such as ``"20ms"``."""


_START = frozenset(Start.__annotations__)


def settings(seed: int, given: Start) -> dict[str, object]:
    """Checks the options of a run, and returns them for the native part."""
    for key, value in given.items():
        if key not in _START:
            raise TypeError(f"got an unexpected keyword argument {key!r}; there are seed, log, {', '.join(sorted(_START))}")
        if key in ("from_snapshot", "save_snapshot") and value is not None:
            path(key, value)
        elif key in ("precondition", "warm_up", "until", "cut_power_at") and (isinstance(value, bool) or not isinstance(value, str | int | float | None)):
            refuse(key, shown(value), "text, such as this argument takes on the command line, or a number where that is one")
    return {"seed": whole("seed", seed, 0), **given}


def run(
    device: Described | None = None,
    workload: Workload | str | None = None,
    *,
    seed: int = 0,
    log: bool | str | PathLike[str] = False,
    design: Design | None = None,
    **start: Unpack[Start],
) -> Result:
    """Runs a workload on a device to its end. Equal device, workload and seed give an equal digest on any machine.

    The default workload is the embedded recorded trace. The default device depends on the workload, as on the command
    line.

    ``log=True`` keeps every request in `Result.log`. With a path, the log is written to a Parquet file. A ``design``
    in Python takes decisions in place of the designs that the device names. Other threads continue during the run.
    Ctrl-C ends the run with `Interrupted`, which has the result of the requests completed so far.
    """
    return result_of(*_ready(device, workload, seed, log, design, start)(None))


async def run_async(
    device: Described | None = None,
    workload: Workload | str | None = None,
    *,
    seed: int = 0,
    log: bool | str | PathLike[str] = False,
    design: Design | None = None,
    **start: Unpack[Start],
) -> Result:
    """Runs a workload as `run` does, in a thread of its own, while other asyncio tasks continue. If the task is
    cancelled, the run stops within a few thousand requests. Its thread ends before the cancellation completes.
    """
    from ._async import in_thread

    return result_of(*await in_thread(_ready(device, workload, seed, log, design, start)))


Ran: TypeAlias = "tuple[_native.Summary | None, _native.Log | None, BaseException | None]"


def _ready(
    device: Described | None,
    workload: Workload | str | None,
    seed: int,
    log: bool | str | PathLike[str],
    design: Design | None,
    start: Start,
) -> Callable[[_native.Stop | None], Ran]:
    """Checks the arguments, and returns a function that makes the run. A stop flag can end it."""
    given = settings(seed, start)
    if design is not None:
        given["design"] = checked("design", design)
    if not isinstance(log, bool):
        given["log"] = path("log", log)
    requests = Workload.of(workload).native
    native = Device.of(requests.usual_preset if device is None else device).native
    return lambda stop: _native.run(native, requests, {**given, "stop": stop}, log is True)


def result_of(
    native: _native.Summary | None, log: _native.Log | None = None, raised: BaseException | None = None
) -> Result:
    """Returns the result, or raises the exception that ended the run early."""
    result = None if native is None else Result.of(native, log)
    if result is None or isinstance(raised, KeyboardInterrupt):
        raise Interrupted(result) from None
    if raised is not None:
        raise raised
    return result
