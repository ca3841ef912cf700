"""Runs and their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from . import _arguments as arguments
from . import _native
from ._arguments import path, plain, refuse, shown, whole
from ._design import Design, checked
from ._device import Described, Device
from ._errors import ConfigError, Error
from ._figure import Figure, charts_of, figure
from ._handle import Handle, native_of
from ._log import Log
from ._record import read
from ._results import Summary
from ._workload import Workload, chunks_of


__version__ = _native.__version__

BATCH = 131_072
"""Default number of requests of a batch of ``observe``. Chosen: a few megabytes, as in a log file."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Result(Summary):
    """The result of a run. Its attributes have the names of the JSON. As text, it is the table of ``wordline run``.

    A result is data: ``dataclasses.asdict`` makes a dict of it, a pickle has all of it with its log, and `load` reads
    it from its JSON. It is the record of a run, so ``dataclasses.replace`` and a call of the class are refused.
    """

    log: Log | None = None
    """The log of every request, if the run had ``log=True``."""

    def __init__(self, *_: object, **values: object) -> None:
        found = ", ".join(sorted(values)[:4]) + (", ..." if len(values) > 4 else "")
        wanted = "a result of `run` or `load`; a changed result is no record of a run, so change `dataclasses.asdict` of it"
        refuse("Result", f"values for {found}" if found else "no run", wanted)

    @classmethod
    def of(cls, native: _native.Summary, log: Log | None = None) -> Result:
        values: dict[str, Any] = json.loads(native.json())
        made = vars(read(Summary, values))
        others = {name: value for name, value in values.items() if name not in made}
        result = object.__new__(cls)
        for name, value in {**made, "others": others, "log": log}.items():
            object.__setattr__(result, name, value)
        object.__setattr__(result, "native", native)
        return result

    if TYPE_CHECKING:

        @property
        def native(self) -> _native.Summary:
            """The result in the native part."""
            ...

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.native.json(), self.log)

    def json(self) -> str:
        """The result as JSON, in the form of the command line."""
        return self.native.json_indented()

    def table(self, columns: int = 100) -> str:
        """The table of ``wordline run``, for a terminal with this many columns of text."""
        return self.native.table(arguments.columns(columns))

    def chart(self, name: str, *, width: float | None = None, height: float | None = None) -> Figure:
        """Returns a chart of this result; see `Comparison.chart`."""
        return figure(charts_of([self.native]), name, width, height)

    def report(self, folder: str | PathLike[str]) -> None:
        """Writes a report to a folder: ``report.html``, which needs no network, its charts, and ``summary.json``."""
        _native.report([self.native], path("folder", folder))

    def _repr_html_(self) -> str:
        return _native.embedded([self.native])

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


def _restored(text: str, log: Log | None) -> Result:
    return Result.of(_native.Summary.read("result", text), log)


def load(source: str | PathLike[str] | Mapping[str, Any]) -> Result:
    """Loads a result from its JSON, as ``wordline run --json``, `Result.json` and the ``summary.json`` of a report
    have it. ``source`` is the path of a file, a text that begins with a brace, or a dict. The result has the charts
    and the report of the original, but no log. Its tables have the metrics of a device in the order of ``wordline
    metrics``.

    Raises a `ConfigError` that says what was found instead: another text, several results, or another layout.

    >>> wl.load("out/summary.json").chart("latency-tail").save("tail.pdf")
    """
    if isinstance(source, Mapping):
        try:
            name, text = "source", json.dumps(source)
        except (TypeError, ValueError) as error:
            refuse("source", f"a dict that is no JSON: {error}", "the JSON of a result")
    elif isinstance(source, str) and source.lstrip().startswith(("{", "[")):
        name, text = "source", source
    else:
        name = path("source", source)
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as reason:
            raise ConfigError(f"{name}: cannot read: {reason.strerror}", [(name, None, None, reason.strerror, "a file to read")]) from reason
        except UnicodeDecodeError:
            refuse(name, "bytes that are no text", "the JSON of a result")
    if text.lstrip().startswith("["):
        refuse(name, "a list", "the JSON of one run; load each item of the list by itself")
    return Result.of(_native.Summary.read(name, text))


class Interrupted(KeyboardInterrupt):
    """The user stopped the run."""

    result: Result | None
    """Result of the requests that completed before the stop; `None` if none did."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__("the run was stopped")
        self.result = result


class Cancelled(Error):
    """A `Handle` cancelled the run, the study or the task."""

    result: Result | None
    """Result of the requests of a run that completed before; `None` if none did, and for a study or a task."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__("the run was cancelled")
        self.result = result


def is_cancelled(handle: Handle | None, raised: BaseException | None) -> bool:
    """Whether a handle ended a run that has ended early. An exception, such as of Ctrl-C, goes first."""
    return handle is not None and handle.is_cancelled and raised is None


class Start(TypedDict, total=False):
    """Options of a run or a session: preparation of the device, warm-up, end, snapshots and power cuts."""

    precondition: str | float
    """Initial state of the device: ``"empty"``, ``"filled"``, a fraction to fill, ``"steady-state"`` (of uniform
    writes), ``"steady-state:0.5"`` (over this fraction of the logical pages), ``"workload"`` (aged by the workload
    itself), or ``"workload:3"`` (aged by this many drive writes). Default: the state that the workload asks for.
    """
    warm_up: str | int
    """Warm-up, whose requests are not measured: a number of requests, a time such as ``"20ms"``, ``"rule"`` (until
    the load is steady by MSER-5), ``"failure"`` (until a member of an array fails), or ``"none"``. Default:
    ``"failure"`` with ``until="rebuilt"``, else ``"rule"`` for a run of a generated workload, unless the device is
    empty; otherwise ``"none"``.
    """
    until: str
    """A metric and a fraction, such as ``"p99:2%"``. The run ends when the half-width of the metric's 95 % confidence
    interval is this fraction of its mean. ``"rebuilt"``: the run ends when an array has rebuilt its failed members.
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


_OTHERS = ("seed", "log", "design", "handle", "observe", "batch")
# Keyword arguments of a run beside the options of `Start`.


def settings(seed: int, given: Start, others: tuple[str, ...] = _OTHERS) -> dict[str, object]:
    """Checks the options of a run, and returns them for the native part. ``others`` are the further arguments of the
    call, for messages.
    """
    plainly = {key: plain(value) for key, value in given.items()}
    for key, value in plainly.items():
        if key not in _START:
            raise TypeError(f"got an unexpected keyword argument {key!r}; there are {', '.join((*others, *sorted(_START)))}")
        if key in ("from_snapshot", "save_snapshot") and value is not None:
            path(key, value)
        elif key in ("precondition", "warm_up", "until", "cut_power_at") and (isinstance(value, bool) or not isinstance(value, str | int | float | None)):
            refuse(key, shown(value), "text, such as this argument takes on the command line, or a number where that is one")
    return {"seed": whole("seed", seed, 0), **plainly}


def device_of(device: Described | None, load: _native.Workload, given: Mapping[str, object]) -> _native.Device:
    """The device of a run with these options: the given one, that of the snapshot, or the default one."""
    snapshot: Any = given.get("from_snapshot")
    if device is None and snapshot is not None:
        return _native.Device.snapshot(snapshot)
    return Device.of(load.usual_preset if device is None else device).native


def run(
    device: Described | None = None,
    workload: Workload | str | None = None,
    *,
    seed: int = 0,
    log: bool | str | PathLike[str] = False,
    design: Design | None = None,
    handle: Handle | None = None,
    observe: Callable[[Log], object] | None = None,
    batch: int = BATCH,
    **start: Unpack[Start],
) -> Result:
    """Runs a workload on a device to its end. Equal device, workload and seed give an equal digest on any machine.

    The default workload is the embedded recorded trace. The default device is that of ``from_snapshot``, or else the
    preset ``nvme-tlc``.

    ``log=True`` keeps every request in `Result.log`. With a path, the log is written to a Parquet file. A ``design``
    in Python takes decisions in place of the designs that the device names. Other threads continue during the run.
    Ctrl-C ends the run with `Interrupted`, which has the result of the requests completed so far.

    A `Handle` shows the progress to other threads, which can cancel the run with it. ``observe`` is called with the
    requests of the run as they complete, in batches of ``batch`` requests, each a `Log` of its own. The run waits
    meanwhile. An exception of ``observe`` ends the run and is raised here. The result does not depend on it.
    """
    return _finished(_ready(device, workload, seed, log, design, (observe, batch), start)(native_of(handle)), handle)


async def run_async(
    device: Described | None = None,
    workload: Workload | str | None = None,
    *,
    seed: int = 0,
    log: bool | str | PathLike[str] = False,
    design: Design | None = None,
    handle: Handle | None = None,
    observe: Callable[[Log], object] | None = None,
    batch: int = BATCH,
    **start: Unpack[Start],
) -> Result:
    """Runs a workload as `run` does, in a thread of its own, while other asyncio tasks continue. If the task is
    cancelled, the run stops within a few thousand requests. Its thread ends before the cancellation completes.
    ``observe`` is called in that thread.
    """
    from ._async import in_thread

    ready = _ready(device, workload, seed, log, design, (observe, batch), start)
    return _finished(await in_thread(ready, native_of(handle)), handle)


Ran: TypeAlias = "tuple[_native.Summary | None, _native.ArrowTable | None, BaseException | None]"


def _ready(
    device: Described | None,
    workload: Workload | str | None,
    seed: int,
    log: bool | str | PathLike[str],
    design: Design | None,
    observed: tuple[Callable[[Log], object] | None, int],
    start: Start,
) -> Callable[[_native.Stop], Ran]:
    """Checks the arguments, and returns a function that makes the run. A stop flag can end it."""
    given = settings(seed, start)
    if design is not None:
        given["design"] = checked("design", design)
    if not isinstance(log, bool):
        given["log"] = path("log", log)
    function, batch = observed
    if function is not None:
        if not callable(function):
            refuse("observe", shown(function), "a function")
        if log is True:
            refuse("log", "True beside observe", "a path, or no log: observe gets all rows of the log")

        def observe(rows: _native.ArrowTable) -> None:
            function(Log(rows))

        given["observe"] = observe
        given["batch"] = whole("batch", batch, 1)
    load = Workload.of(workload)
    native = device_of(device, load.native, given)
    return lambda stop: _native.run(native, load.native, {**given, "source": chunks_of(load), "stop": stop}, log is True)


def _finished(ran: Ran, handle: Handle | None) -> Result:
    """The result of a run, unless it was cancelled."""
    native, log, raised = ran
    if is_cancelled(handle, raised):
        result = None if native is None else result_of(native)
        if result is None or result.outcome == "interrupted":
            raise Cancelled(result)
    return result_of(native, log, raised)


def result_of(
    native: _native.Summary | None, log: _native.ArrowTable | None = None, raised: BaseException | None = None
) -> Result:
    """Returns the result, or raises the exception that ended the run early."""
    result = None if native is None else Result.of(native, None if log is None else Log(log))
    if result is None or isinstance(raised, KeyboardInterrupt):
        raise Interrupted(result) from None
    if raised is not None:
        raise raised
    return result
