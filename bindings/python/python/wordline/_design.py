"""Designs in Python: research ideas beside those that are built in, for decisions that are taken seldom."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import re
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

from . import _native
from ._arguments import instance, kind_of, one_of, refuse, shown, text, whole
from ._errors import ConfigError, Error
from ._native import Arriving, Block, Failure, Moved, Random, Resting, View, Wearing, Written
from ._source import source_of
from ._state import copied, is_constant, is_like, is_shared, read, written
from ._state import told as describe

__all__ = [
    "Arriving", "Block", "Counter", "Design", "Failure", "Moved", "Random", "Resting", "View", "Wearing", "Written", "contract", "counter",
]  # fmt: skip

Counter: TypeAlias = int
"""A counter of a design, which results have among its metrics."""


@dataclass(frozen=True)
class _Counted:
    meaning: str
    unit: str


def counter(meaning: str, *, unit: str = "count") -> Counter:
    """A counter that begins at 0: what it counts, and in which unit (``count``, ``logical pages``, ``pages``, ``blocks``,
    ``block sets``, ``B``). Of a run the result has, in ``others``, what was added during it.
    """
    return cast(Counter, _Counted(text("meaning", meaning), one_of("unit", unit, UNITS)))


UNITS = ("count", "logical pages", "pages", "blocks", "block sets", "B")
"""The units of counters."""

_MOST_TOLD = 2_000
# Characters of a state that the name of a run tells in full. Chosen: a page.

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
    """A design in Python. It looks at a view and answers; the device checks the answer.

    >>> class Young(wl.Design, name="young"):
    ...     weight: float = 1.0                        # a key of its configuration
    ...     spared: wl.Counter = wl.counter("young victims spared", unit="blocks")
    ...
    ...     def victim(self, view, random):
    ...         best = max(view.oldest(16), key=lambda b: (view.pages - b.valid) / (b.valid + 1) * b.age ** self.weight)
    ...         self.spared += best.age < 1000
    ...         return best

    Fields with a type and a default are its configuration: numbers, text, lists, dicts and NumPy arrays. These, its counters, and whatever else an
    object sets of itself (``self.seen = []``) are its state. Each device has a copy of the object with copies of all that, snapshots and
    pickles hold all of it, and the name of a run in a study tells it. So it is plain data: an object of another kind is refused by its name and its type.
    The methods that a class has say which questions it answers; the device's policies answer the others.

    | method | of the class | asked |
    |---|---|---|
    | ``victim(view, random)`` | ``looks_at=16``: blocks of each order in a view | for each block that is cleaned |
    | ``wear(row, random)`` | | for each block that was erased, where the row has free blocks enough |
    | ``idle(row, random)`` | ``rests_after="10ms"``: time without commands of the host | for each row then, again after each command |
    | ``failed(failure, random)`` | | for each failure |
    | ``relocate(page, random)`` | ``collector_streams=2`` | often: for each page that is moved |
    | ``stream(page, random)`` | ``streams=2`` | often: for each page that the host writes |
    | ``admit(page, random)`` | ``in_flight="1MiB"``: how much may be on its way to flash before writes wait | often: for each page that the host writes |

    ``wear`` stands for the policy ``ftl.wear.levelling``, ``admit`` for ``buffer.destage``.
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
        collector_streams: int | None = None,
        rests_after: str | None = None,
        in_flight: str | None = None,
    ) -> None:
        super().__init_subclass__()
        if name is None:
            # A class that is pickled with all that is in it is made empty, and gets that then. Another one is refused when an object is made.
            return
        if not re.fullmatch(r"[a-z][a-z0-9-]*", text("name of a design", name)):
            refuse("name of a design", shown(name), "small letters, digits and hyphens")
        whole("looks_at", looks_at, 1, 65_535)
        counted, fields = _declared(cls, name)
        answers = [method for method in _METHODS if callable(getattr(cls, method, None))]
        if not answers:
            methods = ", ".join(f"{method}(self, {view}, random)" for method, view in _METHODS.items())
            refuse(f"the design {name}", "no answer to anything", f"one of the methods {methods}")
        for method, key, given in (
            ("stream", "streams", streams),
            ("relocate", "collector_streams", collector_streams),
            ("idle", "rests_after", rests_after),
            ("admit", "in_flight", in_flight),
        ):
            if (method in answers) != (given is not None):
                found = f"none beside {method}" if given is None else f"it without {method}"
                refuse(f"{key} of the design {name}", found, "both of them or neither")
        for key, count in (("streams", streams), ("collector_streams", collector_streams)):
            if count is not None:
                whole(f"{key} of the design {name}", count, 1, 16)
        for key, given in (("rests_after", rests_after), ("in_flight", in_flight)):
            if given is not None:
                text(key, given)
        for key in counted:
            setattr(cls, key, 0)
        counters = [(key, value.meaning, value.unit) for key, value in counted.items()]
        cls._kind = _native.Kind(name, answers, looks_at, (streams or 0, collector_streams or 0), (rests_after, in_flight), counters)
        cls._fields, cls._counters, cls._source = fields, counted, None

    if TYPE_CHECKING:

        def victim(self, view: View, random: Random) -> Block | None:
            """The block that is cleaned next, one of those that the view shows; ``None`` for none."""

        def wear(self, row: Wearing, random: Random) -> Block | None:
            """A block of the row whose data move now, so that it is erased though little is to be gained; ``None`` for none. Asked after each erase
            in the row, while it has as many free blocks as cleaning goes for, and again until the answer is ``None``. In all it may name
            as many blocks as were erased for another reason. A block whose data have nowhere to go is passed over."""

        def relocate(self, page: Moved, random: Random) -> int:
            """The stream of the collector that a valid page of a victim goes to, from 0. Asked for each page that is moved."""
            ...

        def stream(self, page: Written, random: Random) -> int:
            """The write stream that a page goes to when it leaves the buffer, from 0. Asked for each page."""
            ...

        def admit(self, page: Arriving, random: Random) -> bool:
            """Whether a page that the host writes stays in the write buffer; otherwise it leaves for flash at once. Asked for each page. One that
            stays leaves when the buffer is too full, or is flushed. While more than ``in_flight`` is on its way, writes of pages that do not stay wait."""
            ...

        def idle(self, row: Resting, random: Random) -> int:
            """How many free blocks a row is to have while the host rests."""
            ...

        def failed(self, failure: Failure, random: Random) -> Literal["retire", "close", "go-on"]:
            """What becomes of a block in which something failed: it is out of use, takes nothing until it is erased, or goes on."""
            ...

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        made = super().__new__(cls)
        # Each object has its own of what can change, also where its class does not call this one's `__init__`.
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
            if isinstance(usual, float) and type(value) is int:
                value = float(value)
            if not is_like(value, usual) or (isinstance(value, float) and math.isnan(value)):
                refuse(key, shown(value), f"a value such as {describe(usual)}")
            setattr(self, key, copied(key, value))

    def _state(self) -> dict[str, Any]:
        """All that the object holds: its fields and counters, then whatever else was set."""
        declared = {key: getattr(self, key) for key in (*self._fields, *self._counters)}
        return {**declared, **{key: value for key, value in vars(self).items() if key not in declared}}

    def _save(self) -> str:
        return written(type(self).__name__, self._state())

    def _load(self, saved: str) -> None:
        state = read(saved)
        vars(self).clear()
        vars(self).update(state)

    def _copied(self) -> Self:
        """An object of its own with the same state."""
        made = object.__new__(type(self))
        made._load(self._save())
        return made

    def _described(self) -> str:
        """All that a run with it depends on: its state, and the source of its class and what that uses of its module."""
        cls = type(self)
        if cls._source is None or cls._source[0] is not cls:
            cls._source = cls, source_of(cls, Design, _METHODS)
        # A state of many numbers is told by its digest: it stands in the record of each run.
        saved = self._save()
        state = saved if len(saved) <= _MOST_TOLD else f"{len(saved)} characters, SHA-256 {hashlib.sha256(saved.encode()).hexdigest()}"
        return f"{self!r}\n{state}\n{cls._source[1]}"

    def __repr__(self) -> str:
        state = {key: value for key, value in self._state().items() if key not in self._counters}
        return f"{type(self).__name__}({', '.join(f'{key}={describe(value)}' for key, value in state.items())})"


def _declared(cls: type[Design], name: str) -> tuple[dict[str, _Counted], dict[str, Any]]:
    """The counters and the fields of a class, those that it inherits first."""
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
    """Tries a design on small devices with writes, discards and flushes drawn at random, among them devices whose chips fail, whose power
    is cut, and that are saved and restored: reads give back what was written, every answer is allowed. Raises `ContractError` with what does not
    hold, the trial, the seed and the time; an exception of the design is its ``__cause__``.
    """
    given: Any = design
    _native.check_contract(checked("design", given() if isinstance(given, type) and issubclass(given, Design) else design))


def checked(name: str, design: object) -> Design:
    """A copy of a design, for one caller: what is done to the design later does not reach it."""
    return instance(name, design, Design, "an object of a class that is made of wordline.Design")._copied()  # pyright: ignore[reportPrivateUsage]


def described(design: Design) -> tuple[Design, str]:
    """A copy of a design, and all that a run with it depends on."""
    copy = checked("design", design)
    return copy, copy._described()  # pyright: ignore[reportPrivateUsage]


def check_restored(design: Design, source: str) -> None:
    """Tries once whether a design is all there after a snapshot, as runs of studies have to be equal wherever they are done: it goes on from one
    as it does without, and changes nothing but its own state.
    """
    _native.check_restored(design)
    cls = type(design)
    try:
        after = source_of(cls, Design, _METHODS)
    except ConfigError:  # a class that came to this process without its file
        return
    if not source.endswith(f"\n{after}"):
        found = "a value of its module or its class that changes while it runs, and that all devices share"
        refuse(f"the design {cls.__name__} in a study", found, "fields")


def told(name: str, raised: BaseException) -> str:
    """The exception of a design in a line: a sentence, or which line of it raised what."""
    if isinstance(raised, Error):
        return str(raised)
    said = "".join(traceback.format_exception_only(raised)).strip()
    frames = traceback.extract_tb(raised.__traceback__)
    at = f", in line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)}, {frames[-1].name}" if frames else ""
    return f"the design {name} raised {said}{at}"
