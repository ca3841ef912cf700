"""Workloads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from . import _native
from ._arguments import is_of, path, refuse, shown, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ._columns import Column, Operations

Chunk: TypeAlias = "tuple[Column, Operations, Column, Column]"
"""Requests of a drawn workload: times in picoseconds, operations, first sectors, and numbers of sectors."""
PathText: TypeAlias = "str | PathLike[str]"


class Pace(TypedDict, total=False):
    """Number and pace of requests. Defaults depend on the source of the requests."""

    requests: int
    """Number of requests: the maximum for a trace, the exact number for a generator."""
    fit: Literal["wrap", "scale", "refuse"]
    """Treatment of requests beyond the end of the device: ``wrap`` their addresses, ``scale`` all addresses, or
    ``refuse`` them.
    """
    time_scale: float
    """Factor on the times between requests, in an open loop; 0.5 is twice as fast."""
    queue_depth: int
    """Number of outstanding requests in each queue, which makes a closed loop. A trace is then replayed without its
    times.
    """
    queues: int
    """Number of submission queues that the host uses. Default: one with a queue depth, otherwise all queues of the
    device.
    """
    namespace: int
    """Namespace of the requests, from 1."""
    think_time: str
    """Time between a completion and the next submission in a closed loop, such as ``"100us"``."""
    bursts: str
    """Length of bursts, such as ``"10ms"``. A closed loop then alternates between submitting requests and pausing,
    each for this time.
    """
    times_of: PathText
    """A trace whose arrival times replace those of the requests; ``"embedded"`` is the embedded trace."""
    traces: PathText
    """A folder with recorded traces. A trace in it replaces the profile of the same name."""


class Workload:
    """Requests and their pace. The arguments are those of ``wordline run``.

    >>> load = Workload("mixed-70-30", requests=1_000_000)
    >>> replay = Workload(trace="writes.csv", queue_depth=8)

    ``name`` is a named workload, the profile of a published trace (``"centaur/usr_1"``), or a workload file that ends
    in ``.toml``. ``trace`` is a trace file; its ``format`` is detected unless it is given. Without ``name`` and
    ``trace`` the workload is the embedded recorded trace.
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
        """Returns ``described`` itself if it is a workload, otherwise the workload with this name. ``None`` is the
        embedded trace.
        """
        if not is_of(described, Workload | str | None):
            refuse("workload", shown(described), "a Workload, or the name of one")
        return described if isinstance(described, Workload) else cls(described)

    @classmethod
    def given(
        cls, times: Column, ops: Operations, sectors: Column, lengths: Column, *, name: str = "given", **pace: Unpack[Pace]
    ) -> Workload:
        """Creates a workload from given requests. Each argument is an array, or one value for all requests: arrival
        times in picoseconds, operations, first sectors, and numbers of sectors. Sectors have 512 bytes.
        """
        from ._columns import columns

        made = cls.__new__(cls)
        text("name", name)
        made.native = _native.Workload.given(name, columns(times, ops, sectors, lengths), known({**pace}))
        made._described = f"given, {name!r}"
        made._made = (times, ops, sectors, lengths), {"name": name, **pace}
        return made

    @classmethod
    def drawn(cls, source: Callable[[], Iterable[Chunk]], **pace: Unpack[Pace]) -> Workload:
        """Creates a workload whose requests a generator makes during the run, so that they need not fit into memory.
        ``source`` is a function that returns an iterator, such as a function with ``yield``. Each item is a chunk of
        requests: times, operations, first sectors, and numbers of sectors, as in `given`. A chunk is submitted when
        the device has accepted all requests of the one before, and times do not decrease. With a ``queue_depth``, times
        do not count. The result does not depend on the size of the chunks.

        Such a workload is for `run` and `run_async`. An exception of the generator ends the run and is raised there.

        >>> def zipf():
        ...     random = np.random.default_rng(1)
        ...     for _ in range(1_000):
        ...         yield 0, "read", 8 * (random.zipf(1.2, 10_000) % 4_096), 8
        >>> wl.run("tiny", wl.Workload.drawn(zipf, queue_depth=8))
        """
        if not callable(source):
            refuse("source", shown(source), "a function that returns an iterator over chunks of requests")
        requests = pace.get("requests")
        if requests is not None:
            refuse("requests", shown(requests), "none: the source makes as many requests as there are")
        made = cls.__new__(cls)
        made.native = _native.Workload.submitted(known({**pace}))
        made._described = f"drawn from {getattr(source, '__qualname__', 'a function')}"
        made._made = (source,), {**pace}
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._made

    def __repr__(self) -> str:
        return f"Workload({self._described})"


def is_drawn(load: Workload) -> bool:
    """Whether a generator makes the requests."""
    return len(load._made[0]) == 1  # pyright: ignore[reportPrivateUsage]


_IN_STUDIES = frozenset({"name", "trace", "format", "trace_options", "requests", "queue_depth", "time_scale", "think_time", "bursts"})
# The arguments of a workload that a study takes.


def keys_of(load: Workload) -> dict[str, Any] | None:
    """The arguments that describe a workload, for other processes; ``None`` for a drawn workload. Given requests are
    written to a trace, which is named by its content.
    """
    from ._columns import write_trace

    columns, keys = load._made  # pyright: ignore[reportPrivateUsage]
    if is_drawn(load):
        return None
    keys = {key: value for key, value in keys.items() if value is not None and not (columns and key == "name")}
    unknown = sorted(keys.keys() - _IN_STUDIES)
    if unknown:
        wanted = f"a workload of a study without it; there are {', '.join(sorted(_IN_STUDIES))}"
        refuse(f"workload.{unknown[0]}", shown(keys[unknown[0]]), wanted)
    if not columns and not keys.keys() & {"name", "trace"}:
        refuse("workload", "the embedded trace", "a name or the file of a trace, in a study")
    if "format" in keys:
        keys["trace_options"] = dict(keys.get("trace_options", {}), format=keys.pop("format"))
    return {**keys, "trace": write_trace(*columns)} if columns else keys


def chunks_of(load: Workload) -> Iterator[Any] | None:
    """The chunks of a drawn workload for the native part; ``None`` for other workloads."""
    return _checked(load._made[0][0]()) if is_drawn(load) else None  # pyright: ignore[reportPrivateUsage]


def _checked(chunks: Iterable[Chunk]) -> Iterator[Any]:
    """Checks the chunks of a generator, and converts them for the native part."""
    from ._columns import columns

    if not is_of(chunks, Iterable):
        refuse("source", f"a function that returned {shown(chunks)}", "one that returns an iterator over chunks of requests")
    for n, chunk in enumerate(chunks):
        if not is_of(chunk, tuple | list) or len(chunk) != 4:
            refuse(f"chunk {n}", shown(chunk), "four columns: times, operations, first sectors, numbers of sectors")
        yield columns(*chunk)


def _restored(columns: tuple[Any, ...], keys: dict[str, Any]) -> Workload:
    if len(columns) == 1:
        return Workload.drawn(columns[0], **keys)
    return Workload.given(*columns, **keys) if columns else Workload(**keys)


_KEYS = frozenset(Pace.__annotations__) | {"name", "trace", "format", "trace_options"}


def known(settings: dict[str, object]) -> dict[str, object]:
    """Checks that all settings are known, and that paths are valid."""
    for key, value in settings.items():
        if key in ("trace", "traces", "times_of") and value is not None:
            path(key, value)
        elif isinstance(value, str):
            text(key, value)
        if key not in _KEYS:
            raise TypeError(f"Workload() got an unexpected keyword argument {key!r}; there are {', '.join(sorted(_KEYS))}")
    return settings


def workloads() -> list[dict[str, Any]]:
    """All named workloads, each with description and kind."""
    found: list[dict[str, Any]] = json.loads(_native.workloads())
    return found
