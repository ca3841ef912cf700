"""Designs in Python: research ideas for infrequent decisions, in addition to the built-in designs."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

from . import _native
from ._arguments import instance, kind_of, one_of, plain, refuse, shown, text, whole
from ._errors import ConfigError
from ._native import Arriving, Block, Failure, Moved, Random, Resting, View, Wearing, Written
from ._source import source_of
from ._state import copied, is_constant, is_like, is_shared, read, told, written

__all__ = [
    "Arriving", "Block", "Counter", "Design", "Failure", "Moved", "Random", "Resting", "View", "Wearing", "Written", "contract", "counter",
]  # fmt: skip

Counter: TypeAlias = int
"""A counter of a design, which results list among the metrics."""


@dataclass(frozen=True)
class _Counted:
    meaning: str
    unit: str


def counter(meaning: str, *, unit: str = "count") -> Counter:
    """Declares a counter, which begins at 0. ``meaning`` describes it. ``unit`` is ``count``, ``logical pages``,
    ``pages``, ``blocks``, ``block sets`` or ``B``. The result of a run has its increase during the run, in
    ``others``.
    """
    return cast(Counter, _Counted(text("meaning", meaning), one_of("unit", unit, UNITS)))


UNITS = ("count", "logical pages", "pages", "blocks", "block sets", "B")
"""Units of counters."""

_MOST_TOLD = 2_000
# Maximum length of a state that the name of a run includes in full. Chosen: a page of text.

_METHODS = {
    "victim": "view",
    "wear": "row",
    "idle": "row",
    "failed": "failure",
    "relocate": "page",
    "stream": "page",
    "admit": "page",
}


class Design:
    """A design in Python. Its methods take decisions from a view of the device. The device checks each decision.

    >>> class Young(wl.Design, name="young"):
    ...     weight: float = 1.0                        # a key of its configuration
    ...     spared: wl.Counter = wl.counter("young victims spared", unit="blocks")
    ...
    ...     def victim(self, view, random):
    ...         best = max(view.oldest(16), key=lambda b: (view.pages - b.valid) / (b.valid + 1) * b.age ** self.weight)
    ...         self.spared += best.age < 1000
    ...         return best

    The methods of a class determine which decisions it takes. The policies of the device take the others.

    Fields with a type and a default are the configuration of a design: numbers, text, lists, dicts and NumPy arrays.
    The state of an object is its configuration, its counters, and every other attribute that it sets (such as
    ``self.seen``). Each device has its own deep copy of the object. Snapshots and pickles contain the whole state,
    and so does the name of a run in a study. The state must therefore be plain data. Any other object is rejected by
    its name and type.

    | method | class argument | called |
    |---|---|---|
    | ``victim(view, random)`` | ``looks_at=16``: number of blocks in each list of the view | for each block that GC collects |
    | ``wear(row, random)`` | | after each erase, if the plane group has enough free blocks |
    | ``idle(row, random)`` | ``idle_after="10ms"``: host idle time before the first call | for each plane group, and again after each command |
    | ``failed(failure, random)`` | | for each failure |
    | ``relocate(page, random)`` | ``gc_streams=2``: number of GC streams | often: for each relocated page |
    | ``stream(page, random)`` | ``streams=2``: number of write streams | often: for each page that the host writes |
    | ``admit(page, random)`` | ``in_flight="1MiB"``: bytes in flight to flash at which writes wait | often: for each page that the host writes |

    ``wear`` replaces the policy ``ftl.wear.levelling``, ``admit`` the policy ``buffer.destage``.
    """

    _kind: ClassVar[_native.Kind]
    _fields: ClassVar[dict[str, Any]] = {}
    _counters: ClassVar[dict[str, _Counted]] = {}
    _source: ClassVar[tuple[type[Design], str] | None] = None

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        looks_at: int = 16,
        streams: int | None = None,
        gc_streams: int | None = None,
        idle_after: str | None = None,
        in_flight: str | None = None,
    ) -> None:
        super().__init_subclass__()
        if name is None:
            # An unpickled class is created empty and filled afterwards. Any other class without a name is rejected
            # when an object is created.
            return
        if not re.fullmatch(r"[a-z][a-z0-9-]*", text("name of a design", name)):
            refuse("name of a design", shown(name), "small letters, digits and hyphens")
        whole("looks_at", looks_at, 1, 65_535)
        counted, fields = _declared(cls, name)
        decisions = [method for method in _METHODS if callable(getattr(cls, method, None))]
        if not decisions:
            methods = ", ".join(f"{method}(self, {view}, random)" for method, view in _METHODS.items())
            refuse(f"the design {name}", "no decision method", f"one of the methods {methods}")
        for method, key, given in (
            ("stream", "streams", streams),
            ("relocate", "gc_streams", gc_streams),
            ("idle", "idle_after", idle_after),
            ("admit", "in_flight", in_flight),
        ):
            if (method in decisions) != (given is not None):
                found = f"none beside {method}" if given is None else f"it without {method}"
                refuse(f"{key} of the design {name}", found, "both of them or neither")
        for key, count in (("streams", streams), ("gc_streams", gc_streams)):
            if count is not None:
                whole(f"{key} of the design {name}", count, 1, 16)
        for key, given in (("idle_after", idle_after), ("in_flight", in_flight)):
            if given is not None:
                text(key, given)
        for key in counted:
            setattr(cls, key, 0)
        counters = [(key, value.meaning, value.unit) for key, value in counted.items()]
        cls._kind = _native.Kind(name, decisions, looks_at, (streams or 0, gc_streams or 0), (idle_after, in_flight), counters)
        cls._fields, cls._counters, cls._source = fields, counted, None

    if TYPE_CHECKING:

        def victim(self, view: View, random: Random) -> Block | None:
            """Returns the block to collect next, which must be a block of the view. ``None`` selects no block for
            now. If the commands of the host then wait for free blocks for ever, the run ends with `DesignError`.
            """

        def wear(self, row: Wearing, random: Random) -> Block | None:
            """Returns a block of the plane group whose data move now. The block is then erased, even if that frees
            little space. ``None`` selects no block.

            The method is called after an erase in the plane group, while the group has at least the free blocks that
            GC keeps. It is called again until it returns ``None``. In total it can select as many blocks as were
            erased for other reasons. A block is skipped if there is no space for its data.
            """

        def relocate(self, page: Moved, random: Random) -> int:
            """Returns the number of the GC stream for a valid page of a victim, from 0. Called for each relocated
            page.
            """
            ...

        def stream(self, page: Written, random: Random) -> int:
            """Returns the number of the write stream for a page that is destaged, from 0. Called for each page."""
            ...

        def admit(self, page: Arriving, random: Random) -> bool:
            """Returns whether a page that the host writes stays in the write buffer. Otherwise it is destaged at
            once. Called for each page.

            A page that stays is destaged when the buffer is too full, or by a flush. Writes of pages that do not stay
            wait while more than ``in_flight`` bytes are in flight to flash.
            """
            ...

        def idle(self, row: Resting, random: Random) -> int:
            """Returns the number of free blocks that a plane group should have while the host is idle."""
            ...

        def failed(self, failure: Failure, random: Random) -> Literal["retire", "close", "go-on"]:
            """Returns the treatment of a block after a failure. ``retire`` takes it out of service. ``close`` allows
            no more programs until it is erased. ``go-on`` continues to use it.
            """
            ...

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        made = super().__new__(cls)
        # Each object has its own mutable values, even if its class does not call `__init__` of `Design`.
        for key, usual in cls._fields.items():
            if is_shared(usual):
                made.__dict__[key] = copied(key, usual)
        return made

    def __init__(self, **settings: Any) -> None:
        if not hasattr(self, "_kind"):
            refuse(f"the design {type(self).__name__}", "no name", f'class {type(self).__name__}(wl.Design, name="...")')
        for key, value in settings.items():
            if key not in self._fields:
                near = get_close_matches(key, self._fields, 1)
                wanted = f"one of {', '.join(self._fields)}" if self._fields else "none: there are none"
                refuse(key, "an unknown key", wanted + (f"; did you mean {near[0]}?" if near else ""))
            usual = self._fields[key]
            if not is_shared(usual):
                value, usual = plain(value), plain(usual)
            if isinstance(usual, float) and type(value) is int:
                value = float(value)
            if not is_like(value, usual) or (isinstance(value, float) and math.isnan(value)):
                refuse(key, shown(value), f"a value such as {told(usual)}")
            setattr(self, key, copied(key, value))

    def _state(self) -> dict[str, Any]:
        """The whole state of the object: fields and counters first, then all other attributes."""
        declared = {key: getattr(self, key) for key in (*self._fields, *self._counters)}
        return {**declared, **{key: value for key, value in vars(self).items() if key not in declared}}

    def _save(self) -> str:
        return written(type(self).__name__, self._state())

    def _settings(self) -> str:
        """Text of the state without counters, for a comparison with another object of the class."""
        return json.dumps({key: told(value) for key, value in self._state().items() if key not in self._counters})

    def _check_settings(self, made: str, saved: str) -> None:
        """Checks that an object was made with the settings of the one that a snapshot has."""
        own, kept = json.loads(made), json.loads(saved)
        for key in {**own, **kept}:
            found, wanted = own.get(key, "nothing"), kept.get(key, "nothing")
            if found != wanted:
                refuse(key, found, f"{wanted}, with which the snapshot was made", of=f"the design {type(self).__name__}: ")

    def _load(self, saved: str) -> None:
        state = read(saved)
        vars(self).clear()
        vars(self).update(state)

    def _copied(self) -> Self:
        """Returns an independent object with the same state."""
        made = object.__new__(type(self))
        made._load(self._save())
        return made

    def _described(self) -> str:
        """Text of everything on which a run with this design depends: its state, the source of its class, and the
        parts of its module that the class uses.
        """
        cls = type(self)
        if cls._source is None or cls._source[0] is not cls:
            cls._source = cls, source_of(cls, Design, _METHODS)
        # A long state is represented by its digest, because the text is part of the record of each run.
        saved = self._save()
        state = saved if len(saved) <= _MOST_TOLD else f"{len(saved)} characters, SHA-256 {hashlib.sha256(saved.encode()).hexdigest()}"
        return f"{self!r}\n{state}\n{cls._source[1]}"

    def __repr__(self) -> str:
        state = {key: value for key, value in self._state().items() if key not in self._counters}
        return f"{type(self).__name__}({', '.join(f'{key}={told(value)}' for key, value in state.items())})"


def _declared(cls: type[Design], name: str) -> tuple[dict[str, _Counted], dict[str, Any]]:
    """Counters and fields of a class. Inherited ones come first."""
    own = {key: getattr(cls, key, None) for key in inspect.get_annotations(cls) if not key.startswith("_")}
    inherited: tuple[dict[str, _Counted], dict[str, Any]] = cls._counters, cls._fields  # pyright: ignore[reportPrivateUsage]
    counted = {**inherited[0], **{key: value for key, value in own.items() if isinstance(value, _Counted)}}
    fields = {**inherited[1], **{key: value for key, value in own.items() if key not in counted}}
    for key, value in own.items():
        if key in fields and not (isinstance(value, bool | int | float | str) or is_shared(value)):
            refuse(f"{name}.{key}", shown(value), "a default that is a number, text, True or False, a list, a dict or a NumPy array")
    written(name, fields)
    for base in cls.__mro__[: cls.__mro__.index(Design)]:
        if base.__dict__.get("__slots__"):
            refuse(f"the design {name}", f"__slots__ in {base.__name__}", "fields, which a snapshot has")
        for key, value in vars(base).items():
            is_ours = key in fields or key in counted or key in vars(Design) or key == "_kind" or key.startswith(("__", "_abc_"))
            if not is_ours and not is_constant(value):
                found = f"an object of the type {kind_of(value)} that all its devices would share"
                wanted = f"a field, `{key}: {type(value).__name__} = ...`, or a tuple if it never changes" if is_shared(value) else "plain data"
                refuse(f"{name}.{key}", found, wanted)
    return counted, fields


def contract(design: Design | type[Design]) -> None:
    """Tests a design on small devices with random writes, discards and flushes. Trials also include chip failures,
    power cuts, and save and restore. Reads must return the data written last, and every decision must be valid.

    Raises `ContractError` with the violation, the trial, the seed and the time. If the design raised an exception, it
    is the ``__cause__``.
    """
    given: Any = design
    _native.check_contract(checked("design", given() if isinstance(given, type) and issubclass(given, Design) else design))


def checked(name: str, design: object) -> Design:
    """Checks a design and returns a copy of it, which later changes of the design do not affect."""
    return instance(name, design, Design, "an instance of a subclass of wordline.Design")._copied()  # pyright: ignore[reportPrivateUsage]


Designs: TypeAlias = "dict[str, tuple[Design, str] | None]"
"""Designs of a study by label, each with its source; ``None`` for a label without a design. The empty label is a
design for all runs.
"""


def described(design: Design) -> tuple[Design, str]:
    """Returns a copy of a design, and a text of everything on which a run with it depends."""
    copy = checked("design", design)
    return copy, copy._described()  # pyright: ignore[reportPrivateUsage]


def check_restored(design: Design, source: str) -> None:
    """Tests once that a snapshot contains the whole state of a design, because runs of studies must be equal on any
    machine. The design must continue from a snapshot as it does without one. It must change nothing except its own
    state.
    """
    _native.check_restored(design)
    cls = type(design)
    try:
        after = source_of(cls, Design, _METHODS)
    except ConfigError:  # the class was sent to this process without its file
        return
    if not source.endswith(f"\n{after}"):
        found = "a value of its module or its class that changes while it runs, and that all devices share"
        refuse(f"the design {cls.__name__} in a study", found, "fields")
