"""Designs in Python: research ideas beside those that are built in, for decisions that are taken seldom."""

from __future__ import annotations

import inspect
import json
import os
import re
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

from . import _native
from ._errors import ConfigError, Error
from ._native import Arriving, Block, Failure, Moved, Random, Resting, View, Wearing, Written
from ._source import source_of

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
    return cast(Counter, _Counted(meaning, unit))


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

    Fields with a type and a default are its configuration, and with its counters all that a snapshot of a device holds of it. Each
    device has a copy of the object. The methods that a class has say which questions it answers; the device's policies answer the others.

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
    _counters: ClassVar[tuple[str, ...]] = ()
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
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise _refused("name of a design", repr(name), "small letters, digits and hyphens")
        if not 1 <= looks_at <= 65_535:
            raise _refused("looks_at", str(looks_at), "a whole number from 1 to 65535")
        own = {key: getattr(cls, key, None) for key in inspect.get_annotations(cls) if not key.startswith("_")}
        counted = {key: value for key, value in own.items() if isinstance(value, _Counted)}
        fields = {key: value for key, value in own.items() if key not in counted}
        for key, value in fields.items():
            if not isinstance(value, bool | int | float | str):
                raise _refused(f"{name}.{key}", repr(value), "a default that is a number, text, True or False")
        answers = [method for method in _METHODS if callable(getattr(cls, method, None))]
        if not answers:
            methods = ", ".join(f"{method}(self, {shown}, random)" for method, shown in _METHODS.items())
            raise _refused(f"the design {name}", "no answer to anything", f"one of the methods {methods}")
        for method, key, given in (
            ("stream", "streams", streams),
            ("relocate", "collector_streams", collector_streams),
            ("idle", "rests_after", rests_after),
            ("admit", "in_flight", in_flight),
        ):
            if (method in answers) != (given is not None):
                found = f"none beside {method}" if given is None else f"it without {method}"
                raise _refused(f"{key} of the design {name}", found, "both of them or neither")
        for key, count in (("streams", streams), ("collector_streams", collector_streams)):
            if count is not None and not 1 <= count <= 16:
                raise _refused(f"{key} of the design {name}", str(count), "a whole number from 1 to 16")
        for key in counted:
            setattr(cls, key, 0)
        counters = [(key, value.meaning, value.unit) for key, value in counted.items()]
        cls._kind = _native.Kind(name, answers, looks_at, (streams or 0, collector_streams or 0), (rests_after, in_flight), counters)
        cls._fields, cls._counters, cls._source = fields, tuple(counted), None

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

    def __init__(self, **settings: Any) -> None:
        if not hasattr(self, "_kind"):
            raise _refused(f"the design {type(self).__name__}", "no name", f'class {type(self).__name__}(wl.Design, name="...")')
        for key, value in settings.items():
            if key not in self._fields:
                near = get_close_matches(key, self._fields, 1)
                wanted = f"one of {', '.join(self._fields)}" if self._fields else "none: there are none"
                raise _refused(key, "an unknown key", wanted + (f"; did you mean {near[0]}?" if near else ""))
            usual = self._fields[key]
            if isinstance(usual, float) and type(value) is int:
                value = float(value)
            if type(value) is not type(usual):
                raise _refused(key, repr(value), f"a value such as {usual!r}")
            setattr(self, key, value)

    def _save(self) -> str:
        return json.dumps({key: getattr(self, key) for key in (*self._fields, *self._counters)})

    def _load(self, saved: str) -> None:
        for key, value in json.loads(saved).items():
            setattr(self, key, value)

    def _described(self) -> str:
        """All that a run with it depends on: its settings, and the source of its class and what that uses of its module."""
        cls = type(self)
        if cls._source is None or cls._source[0] is not cls:
            cls._source = cls, source_of(cls, Design, _METHODS)
        return f"{self!r}\n{cls._source[1]}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={getattr(self, key)!r}' for key in self._fields)})"


def contract(design: Design | type[Design]) -> None:
    """Tries a design on small devices with writes, discards and flushes drawn at random, among them devices whose chips fail, whose power
    is cut, and that are saved and restored: reads give back what was written, every answer is allowed. Raises what does not hold.
    """
    _native.check_contract(design() if isinstance(design, type) else design)


def described(design: Any) -> tuple[Design, str]:
    """A design with all that a run with it depends on."""
    return design, design._described()


def told(name: str, raised: BaseException) -> str:
    """The exception of a design in a line: a sentence, or which line of it raised what."""
    if isinstance(raised, Error):
        return str(raised)
    said = "".join(traceback.format_exception_only(raised)).strip()
    frames = traceback.extract_tb(raised.__traceback__)
    at = f", in line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)}, {frames[-1].name}" if frames else ""
    return f"the design {name} raised {said}{at}"


def _refused(what: str, found: str, wanted: str) -> ConfigError:
    return ConfigError(f"{what}: found {found}, wanted {wanted}", [(None, None, what, found, wanted)])
