"""Sessions: runs that advance step by step, for hosts that react to completions, and for coupling with other
simulators.
"""

from __future__ import annotations

import contextlib
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from . import _arguments as arguments
from . import _native
from ._arguments import refuse, shown
from ._device import Described
from ._run import Result, Start, device_of, result_of, settings
from ._workload import Pace, Workload, is_drawn, known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._columns import Column, Operations


class Standing(NamedTuple):
    """The state of a session."""

    now_ps: int
    """Current time, in picoseconds since the session began."""
    waiting: int
    """Number of requests that were submitted and that the device has not accepted yet."""
    submitted: int
    """Number of requests that the device has accepted."""
    completed: int
    """Number of completed requests."""
    outstanding: int
    """Number of requests that the device has accepted and that can still complete."""
    lost: int
    """Number of requests lost in power cuts."""
    recovers: bool
    """Whether the device is recovering from a power cut and accepts no requests."""


class Zone(NamedTuple):
    """A zone of a zoned namespace, in a report of its zones. Sectors have 512 bytes."""

    start: int
    """First sector of the zone."""
    capacity: int
    """Number of writable sectors, from the first one on."""
    write_pointer: int | None
    """Sector that the next write must begin at; none in a zone that accepts no writes: full, read-only or offline."""
    state: str
    """State: ``empty``, ``implicitly_open``, ``explicitly_open``, ``closed``, ``full``, ``read_only`` or ``offline``."""


class Session:
    """A device that receives requests and that the caller advances in steps. The steps do not affect the result:
    equal requests give an equal digest.

    >>> dev = Session("tiny", seed=1)
    >>> dev.submit([0, 1_000_000], "read", [0, 8], 8)      # picoseconds, operations, first sectors, numbers of sectors
    0
    >>> dev.advance()                                      # until all have completed
    True
    >>> dev.completions()["latency_ps"]
    array([...])
    >>> dev.finish().host.reads
    2

    Times are in picoseconds since the session began. Sectors have 512 bytes. Without a ``workload`` the caller
    submits the requests; ``pace`` sets their pace. With a ``workload`` the session generates its own requests. The
    default device is that of ``from_snapshot``, or else the preset ``nvme-tlc``.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        device: Described | None = None,
        workload: Workload | str | None = None,
        *,
        seed: int = 0,
        pace: Pace | None = None,
        **start: Unpack[Start],
    ) -> None:
        if workload is None:
            asked = dict(arguments.mapping("pace", {} if pace is None else pace, "a dict of a pace, such as {\"queue_depth\": 8}"))
            if asked.get("requests") is not None:
                refuse("pace.requests", shown(asked["requests"]), "none: the caller submits as many requests as there are")
            requests = _native.Workload.submitted(known(asked))
        elif pace is not None:
            refuse("pace", "it together with a workload", "the pace of the workload: wl.Workload(..., queue_depth=8)")
        else:
            load = Workload.of(workload)
            if is_drawn(load):
                refuse("workload", shown(load), "one that is not drawn, or none: submit the chunks yourself")
            requests = load.native
        given = settings(seed, start, _OTHERS)
        self._native = _native.Session(device_of(device, requests, given), requests, given)

    def submit(self, times: Column, ops: Operations, sectors: Column, lengths: Column) -> int:
        """Submits requests. Each argument is an array, or one value for all requests. The device accepts a request at
        its time. Nothing is simulated before the session advances.

        Returns the number of the first request. Requests are numbered from 0 in order of submission, and a completion
        has the number of its request. If a request is rejected, the requests before it remain submitted. A note of
        the exception has their number.
        """
        from ._columns import NUMBERS, columns

        number = NUMBERS.get(ops) if type(ops) is str else ops
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if type(times) is int and is_number and type(sectors) is int and type(lengths) is int:
            with contextlib.suppress(OverflowError):  # a number that is too large for a column, too
                return self._native.submit_one(times, number, sectors, lengths)

        standing = self._native.standing
        submitted, raised = self._native.submit(columns(times, ops, sectors, lengths))
        if raised is not None:
            raised.add_note(f"{submitted} requests before it were submitted")
            raise raised
        return standing[1] + standing[2]

    def advance(self, until: int | None = None, *, completions: int | None = None, taken: bool = False) -> bool:
        """Advances the session, in one of these ways:

        - ``until``: to this time in picoseconds. Everything due up to and including this time has then happened.
        - ``completions``: until this many more requests complete. With ``completions=1``, ``until`` is a time limit.
        - ``taken``: until the device has accepted every request.
        - Without an argument: until every request has completed.

        Returns true if that point was reached, and false if the device became idle before it.

        Other threads continue meanwhile. Ctrl-C raises ``KeyboardInterrupt``; the session can be advanced further
        afterwards.
        """
        return self._native.advance(*_end(until, completions, taken), None)

    async def advance_async(self, until: int | None = None, *, completions: int | None = None, taken: bool = False) -> bool:
        """Advances the session as `advance` does, in a thread of its own, while other asyncio tasks continue. If the
        task is cancelled, the session stops within a few thousand requests, before the cancellation completes. It can
        be advanced further afterwards.
        """
        from ._async import in_thread

        end = _end(until, completions, taken)
        return await in_thread(lambda stop: self._native.advance(*end, stop))

    def completions(self) -> NDArray[Any]:
        """The requests that completed since the last call, in order of completion. The ``sector`` of a zone append is
        the one that its data were written to. The array has records with the
        fields ``time_ps``, ``latency_ps``, ``sector``, ``sectors``, ``number``, ``operation`` and ``failed``; see
        `ANSWER`.
        """
        from ._columns import completions_of

        return completions_of(self._native.completions())

    @property
    def now_ps(self) -> int:
        """Current time, in picoseconds since the session began."""
        return self._native.now

    @property
    def standing(self) -> Standing:
        """The state: the time, and the numbers of waiting, outstanding and completed requests."""
        return Standing(*self._native.standing)

    def result(self) -> Result:
        """The result so far."""
        return result_of(self._native.summary())

    def report_zones(self) -> list[Zone]:
        """The zones of the device, in order (Report Zones of NVMe). Their states include all requests that the device
        has accepted. The report takes no simulated time. A device without zones raises `ConfigError`.
        """
        return [Zone(*zone) for zone in self._native.report_zones()]

    def cut_power(self) -> None:
        """Cuts the power now, and restores it. Outstanding requests are lost. The device recovers while the session
        advances.
        """
        self._native.cut_power()

    def save(self, path: str | PathLike[str]) -> None:
        """Saves the device as a snapshot, from which ``from_snapshot`` restores it."""
        self._native.save(arguments.path("path", path))

    def finish(self) -> Result:
        """Advances until every request has completed, and ends the session. Returns the result, which equals the
        result of a run with the same requests.
        """
        native, raised = self._native.finish()
        return result_of(native, None, raised)


_OTHERS = ("seed", "pace")
# Keyword arguments of a session beside the options of `Start`.


def _end(until: int | None, completions: int | None, taken: bool) -> tuple[int | None, int | None, bool]:
    """Checks the arguments that determine the end of a step."""
    time = None if until is None else arguments.whole("until", until, 0)
    count = None if completions is None else arguments.whole("completions", completions, 1)
    return time, count, arguments.flag("taken", taken)
