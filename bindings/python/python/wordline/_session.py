"""Sessions: runs that advance step by step, for hosts that react to completions, and for other simulators."""

from __future__ import annotations

import contextlib
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from . import _arguments as arguments
from . import _native
from ._arguments import refuse
from ._device import Described, Device
from ._run import Result, Start, result_of, settings
from ._workload import Pace, Workload, known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._columns import Column, Operations


class Standing(NamedTuple):
    """State of a session."""

    now_ps: int
    """Current time, in picoseconds since the session began."""
    waiting: int
    """Requests submitted that the device has not yet taken."""
    submitted: int
    """Requests that the device has taken."""
    completed: int
    """Completed requests."""
    outstanding: int
    """Requests that the device has taken and that may still complete."""
    lost: int
    """Requests lost in a power cut."""
    recovers: bool
    """Whether the device recovers from a power cut, and takes no requests."""


class Session:
    """A device in operation, which takes requests and advances as far as its caller wants. Equal requests give an equal digest,
    whatever the steps.

    >>> dev = Session("tiny", seed=1)
    >>> dev.submit([0, 1_000_000], "read", [0, 8], 8)      # picoseconds, operations, first sectors, numbers of sectors
    0
    >>> dev.advance()                                      # until all have completed
    True
    >>> dev.completions()["latency_ps"]
    array([...])
    >>> dev.finish().host.reads
    2

    Times are in picoseconds since the session began, and sectors have 512 bytes. With a ``workload`` it generates its own requests.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        device: Described,
        workload: Workload | str | None = None,
        *,
        seed: int = 0,
        pace: Pace | None = None,
        **start: Unpack[Start],
    ) -> None:
        if workload is None:
            requests = _native.Workload.submitted(known(dict(arguments.mapping("pace", {} if pace is None else pace, "a dict of a pace, such as {\"queue_depth\": 8}"))))
        elif pace is not None:
            refuse("pace", "it together with a workload", "the pace of the workload: wl.Workload(..., queue_depth=8)")
        else:
            requests = Workload.of(workload).native
        self._native = _native.Session(Device.of(device).native, requests, settings(seed, start))

    def submit(self, times: Column, ops: Operations, sectors: Column, lengths: Column) -> int:
        """Submits requests, which the device takes at their times; an array each, or one value for all. Nothing is
        simulated before the session advances. Returns the number of the first one, counted from 0 in order of
        submission, which identifies its completion.

        If a request is rejected the previous ones stay submitted; the exception gives their number.
        """
        if type(times) is int and type(ops) is int and type(sectors) is int and type(lengths) is int:
            with contextlib.suppress(OverflowError):  # a number that no column takes either
                return self._native.submit_one(times, ops, sectors, lengths)
        from ._columns import columns

        standing = self._native.standing
        submitted, raised = self._native.submit(columns(times, ops, sectors, lengths))
        if raised is not None:
            raised.add_note(f"{submitted} requests before it were submitted")
            raise raised
        return standing[1] + standing[2]

    def advance(self, until: int | None = None, *, completions: int | None = None, taken: bool = False) -> bool:
        """Advances to the time ``until``, in picoseconds: everything due up to and including that instant has
        happened. Or until this many more completions (``completions``); with ``completions=1`` no further than ``until``. Or
        until the device has ``taken`` every request. With no argument, until every request has completed. Returns
        false if the device became idle before that.

        Other threads continue meanwhile. Ctrl-C raises ``KeyboardInterrupt``, and the session can continue from
        there.
        """
        return self._native.advance(*_end(until, completions, taken), None)

    async def advance_async(self, until: int | None = None, *, completions: int | None = None, taken: bool = False) -> bool:
        """Does what `advance` does in a thread of its own, while other asyncio tasks continue. If its task is
        cancelled the session stops, within some thousands of requests, before the cancellation completes; it can
        continue from there.
        """
        from ._async import in_thread

        end = _end(until, completions, taken)
        return await in_thread(lambda stop: self._native.advance(*end, stop))

    def completions(self) -> NDArray[Any]:
        """Completions since the last call, in order: an array of records with the fields ``time_ps``, ``latency_ps``,
        ``sector``, ``sectors``, ``number``, ``operation`` and ``failed``.
        """
        from ._columns import completions_of

        return completions_of(self._native.completions())

    @property
    def now_ps(self) -> int:
        """Current time, in picoseconds since the session began."""
        return self._native.now

    @property
    def standing(self) -> Standing:
        """State: its time, and the numbers of waiting, outstanding and completed requests."""
        return Standing(*self._native.standing)

    def result(self) -> Result:
        """Result so far."""
        return result_of(self._native.summary())

    def cut_power(self) -> None:
        """Cuts the power now, and switches it on again: outstanding requests are lost, and the device recovers as the
        session advances.
        """
        self._native.cut_power()

    def save(self, path: str | PathLike[str]) -> None:
        """Saves the device as a snapshot, from which ``from_snapshot`` restores it."""
        self._native.save(arguments.path("path", path))

    def finish(self) -> Result:
        """Advances until every request has completed, and ends the session. Returns the result, equal to that of a
        run.
        """
        native, raised = self._native.finish()
        return result_of(native, None, raised)


def _end(until: int | None, completions: int | None, taken: bool) -> tuple[int | None, int | None, bool]:
    """Checks the end condition of a step."""
    time = None if until is None else arguments.whole("until", until, 0)
    count = None if completions is None else arguments.whole("completions", completions, 1)
    return time, count, arguments.flag("taken", taken)
