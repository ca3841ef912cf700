"""Workloads."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from . import _native
from ._arguments import is_of, path, refuse, shown, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._columns import Column, Operations

PathText: TypeAlias = "str | PathLike[str]"


class Pace(TypedDict, total=False):
    """How many requests, and at what pace. What is left out follows from where they come from."""

    requests: int
    """How many: at most this many of a trace, exactly this many of a generator."""
    fit: Literal["wrap", "scale", "refuse"]
    """Treatment of requests beyond the device."""
    time_scale: float
    """Factor on the times between requests; 0.5 is twice as fast."""
    queue_depth: int
    """Keeps this many requests outstanding in each queue; a trace is then replayed without its times."""
    queues: int
    """Submission queues that the host uses: one with a queue depth, else all that the device has."""
    namespace: int
    """The namespace that the requests are for, from 1."""
    think_time: str
    """Time between an answer and the next request of a closed loop, such as ``"100us"``."""
    bursts: str
    """Lets a closed loop submit requests for this time, then pause for as long, over and over, such as ``"10ms"``."""
    times_of: PathText
    """A trace whose times the requests take in place of their own; ``"embedded"`` is the one of the program."""
    traces: PathText
    """A folder of recorded traces, which take the place of profiles of the same name."""


class Workload:
    """Which requests, and at what pace: the arguments are those of ``wordline run``.

    >>> load = Workload("mixed-70-30", requests=1_000_000)
    >>> replay = Workload(trace="writes.csv", queue_depth=8)

    ``name`` is a named workload, the profile of a published trace (``"centaur/usr_1"``) or a workload file that ends in ``.toml``;
    ``trace`` is a trace file, whose ``format`` is found out; with neither it is the recorded trace that comes with Wordline.
    """

    __slots__ = ("_described", "_made", "native")

    def __init__(
        self,
        name: str | None = None,
        *,
        trace: PathText | None = None,
        format: str | None = None,
        trace_options: Mapping[str, str | int] | None = None,
        **pace: Unpack[Pace],
    ) -> None:
        source = {"name": name, "trace": trace, "format": format, "trace_options": trace_options}
        given = {key: value for key, value in source.items() if value is not None}
        self.native = _native.Workload(known({**given, **pace}))
        self._made: tuple[tuple[Any, ...], dict[str, Any]] = (), {**given, **pace}
        self._described = ", ".join(f"{key}={value!r}" for key, value in {**given, **pace}.items())

    @classmethod
    def of(cls, described: Workload | str | None) -> Workload:
        """The workload itself, or that of a name; the embedded trace where there is none."""
        if not is_of(described, Workload | str | None):
            refuse("workload", shown(described), "a Workload, or the name of one")
        return described if isinstance(described, Workload) else cls(described)

    @classmethod
    def given(
        cls, times: Column, ops: Operations, sectors: Column, lengths: Column, *, name: str = "given", **pace: Unpack[Pace]
    ) -> Workload:
        """These requests: arrival in picoseconds, operation, first sector and number of sectors of 512 bytes, an array each, or one
        value for all.
        """
        from ._columns import columns

        made = cls.__new__(cls)
        text("name", name)
        made.native = _native.Workload.given(name, columns(times, ops, sectors, lengths), known({**pace}))
        made._described = f"given, {name!r}"
        made._made = (times, ops, sectors, lengths), {"name": name, **pace}
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._made

    def __repr__(self) -> str:
        return f"Workload({self._described})"


def _restored(columns: tuple[Any, ...], keys: dict[str, Any]) -> Workload:
    return Workload.given(*columns, **keys) if columns else Workload(**keys)


_KEYS = frozenset(Pace.__annotations__) | {"name", "trace", "format", "trace_options"}


def known(settings: dict[str, object]) -> dict[str, object]:
    """The settings, where each has a name that there is, and each path is one."""
    for key, value in settings.items():
        if key in ("trace", "traces", "times_of") and value is not None:
            path(key, value)
        elif isinstance(value, str):
            text(key, value)
        if key not in _KEYS:
            raise TypeError(f"Workload() got an unexpected keyword argument {key!r}; there are {', '.join(sorted(_KEYS))}")
    return settings


def workloads() -> list[dict[str, Any]]:
    """All workloads with a name, with description and kind."""
    found: list[dict[str, Any]] = json.loads(_native.workloads())
    return found
