"""The native part of the package, as its Python part uses it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self, TypeAlias

from ._design import Design

_Columns: TypeAlias = "Sequence[Any]"

Designs: TypeAlias = dict[str, tuple[Design, str] | None]
"""Designs of a study by their labels, each with its source; under no label that of all runs. Nothing where no design is."""
Task: TypeAlias = tuple[str, str, tuple[str, str, str] | None]
"""A run of a study: its name, its text, and the trace that it replays: its folder, its file and its hash."""
Ended: TypeAlias = tuple[str, str | None, str | None, str | None]
"""How one has ended: its name, its record and its windows; or the error of one that has no record."""
Place: TypeAlias = Callable[[list[Task]], Iterable[Ended]]
"""Another place than this machine, where runs are done."""

class Device:
    @staticmethod
    def preset(name: str) -> Device: ...
    @staticmethod
    def file(path: str | PathLike[str]) -> Device: ...
    @staticmethod
    def of_keys(name: str, keys: Mapping[str, object]) -> Device: ...
    @staticmethod
    def of_toml(name: str, text: str) -> Device: ...
    def with_keys(self, keys: Mapping[str, object]) -> Device: ...
    def get(self, key: str) -> Any: ...
    def table(self) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def device_type(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def capacity(self) -> int: ...
    def explain(self) -> str: ...

class Workload:
    def __new__(cls, settings: dict[str, object]) -> Self: ...
    @staticmethod
    def submitted(settings: dict[str, object]) -> Workload: ...
    @staticmethod
    def given(name: str, columns: _Columns, settings: dict[str, object]) -> Workload: ...
    @property
    def usual_preset(self) -> str: ...

class Summary:
    def json(self) -> str: ...
    def json_indented(self) -> str: ...
    def table(self, columns: int) -> str: ...

class Study:
    @staticmethod
    def file(path: str | PathLike[str]) -> Study: ...
    @staticmethod
    def of_keys(name: str, keys: Mapping[str, object]) -> Study: ...
    @staticmethod
    def of_text(name: str, text: str) -> Study: ...
    def with_designs(self, designs: Designs) -> Study: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    def plan(self, settings: dict[str, object]) -> tuple[int, int, int, float | None, int, int | None, int]: ...
    def axes(self) -> list[tuple[str, list[Any]]]: ...
    def run_at(
        self, settings: dict[str, object], places: Sequence[Sequence[int]], place: Place | None
    ) -> tuple[str | None, BaseException | None]: ...
    def run(self, settings: dict[str, object], place: Place | None) -> tuple[StudyTable | None, BaseException | None]: ...

class StudyTable:
    def json(self) -> str: ...
    def table(self, columns: int) -> str: ...
    def write_runs(self, path: str | PathLike[str]) -> None: ...

class Log:
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Kind:
    def __new__(
        cls,
        name: str,
        answers: Sequence[str],
        looks_at: int,
        streams: tuple[int, int],
        texts: tuple[str | None, str | None],
        counters: Sequence[tuple[str, str, str]],
    ) -> Self: ...

class Block:
    """A block that could be cleaned, or whose data may move."""

    @property
    def number(self) -> int:
        """Its number in the device."""
    @property
    def valid(self) -> int:
        """Its valid logical pages."""
    @property
    def erases(self) -> int:
        """How often it was erased."""
    @property
    def age(self) -> int:
        """How many blocks of the device were opened since it was."""

class View:
    """The device as a design sees it when it is asked for a victim."""

    @property
    def pages(self) -> int:
        """Logical pages of a block."""
    @property
    def row(self) -> int:
        """The row of planes of which a block is to be cleaned."""
    @property
    def free_blocks(self) -> int:
        """Its free blocks."""
    @property
    def now_ps(self) -> int:
        """The time, in picoseconds."""
    def oldest(self, count: int) -> list[Block]:
        """The blocks that were closed first, the oldest at the front; there may be fewer."""
    def fewest(self, count: int) -> list[Block]:
        """The blocks with the fewest valid pages, fewest first; there may be fewer."""

class Wearing:
    """A row of planes when a design is asked which of its blocks lie still."""

    @property
    def row(self) -> int:
        """Its number."""
    @property
    def blocks(self) -> int:
        """How many blocks it has."""
    @property
    def first(self) -> int:
        """The number of the first of them in the device."""
    @property
    def free_blocks(self) -> int:
        """Blocks that are free."""
    @property
    def pages(self) -> int:
        """Logical pages of a block."""
    @property
    def erases(self) -> int:
        """How often its blocks were erased, all together."""
    @property
    def most_erases(self) -> int:
        """How often the one was that was erased most."""
    @property
    def erased(self) -> list[int]:
        """The numbers of the blocks that were erased since the design was asked about the row before, in order."""
    def block(self, number: int) -> Block | None:
        """The block of a number in the device; ``None`` where its data may not move now: it is free or being written, or of another row."""
    def least_erased(self, count: int) -> list[Block]:
        """The blocks that were erased least, of those whose data may move; the lowest number wins a tie. There may be fewer."""
    def oldest(self, count: int) -> list[Block]:
        """The blocks that were opened first, of those whose data may move, the oldest at the front; there may be fewer."""

class Arriving:
    """A page that the host writes, when it comes to the buffer."""

    @property
    def logical(self) -> int:
        """Its number."""
    @property
    def now_ps(self) -> int:
        """The time, in picoseconds."""

class Moved:
    """A valid page of a block that is cleaned."""

    @property
    def logical(self) -> int:
        """Its number."""
    @property
    def moved_by(self) -> int | None:
        """The collector's stream that wrote its block; none if the host did."""

class Written:
    """A page that leaves the buffer."""

    @property
    def logical(self) -> int:
        """Its number."""
    @property
    def tag(self) -> int:
        """The stream that the host named when it wrote the page last; 0 for none."""
    @property
    def sectors(self) -> int:
        """Sectors of it that the host wrote."""
    @property
    def request_sectors(self) -> int:
        """Sectors of the whole write that wrote of it last."""
    @property
    def request_sector(self) -> int:
        """The first sector of that write."""

class Resting:
    """A row of planes while the host rests."""

    @property
    def row(self) -> int:
        """Its number."""
    @property
    def free_blocks(self) -> int:
        """Blocks that are free."""
    @property
    def good_blocks(self) -> int:
        """Blocks that are in use: all but the bad ones."""
    @property
    def full_blocks(self) -> int:
        """Blocks that the valid pages would fill: the others are spare."""
    @property
    def cached_blocks(self) -> int:
        """Blocks in SLC mode, where there is a cache."""

class Failure:
    """An operation that failed in a block."""

    @property
    def failed(self) -> Literal["program", "erase", "read", "refused"]:
        """The operation; ``refused`` is a program that a design did not accept."""
    @property
    def block(self) -> int:
        """The number of the block in the device."""
    @property
    def times(self) -> int:
        """How often the same failed in it, with this time."""
    @property
    def erases(self) -> int:
        """How often it was erased."""

class Random:
    """The design's own random stream: equal seeds give equal numbers."""

    def below(self, bound: int) -> int:
        """A whole number from 0 to below the bound, each equally likely."""
    def random(self) -> float:
        """A number from 0 to below 1."""

class Stop:
    def __new__(cls) -> Self: ...
    def set(self) -> None: ...

class Session:
    def __new__(cls, device: Device, workload: Workload, settings: dict[str, object]) -> Self: ...
    def submit_one(self, time: int, op: int, sector: int, length: int) -> int: ...
    def submit(self, columns: _Columns) -> tuple[int, BaseException | None]: ...
    def advance(self, until: int | None, answers: int | None, taken: bool, stop: Stop | None) -> bool: ...
    def answers(self) -> bytes: ...
    @property
    def now(self) -> int: ...
    @property
    def standing(self) -> tuple[int, int, int, int, int, int, bool]: ...
    def summary(self) -> Summary: ...
    def cut_power(self) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def finish(self) -> tuple[Summary | None, BaseException | None]: ...

def run(
    device: Device, workload: Workload, settings: dict[str, object], log: bool
) -> tuple[Summary | None, Log | None, BaseException | None]: ...
def carry_out(text: str, traces: str | PathLike[str] | None, designs: Designs | None) -> tuple[str, str | None]: ...
def program() -> str: ...
def check_contract(design: object) -> None: ...
def check_restored(design: object) -> None: ...
def charts(runs: Sequence[Summary]) -> str: ...
def comparison(runs: Sequence[Summary], columns: int) -> str: ...
def report(runs: Sequence[Summary], folder: str | PathLike[str]) -> None: ...
def for_a_page(spec: str, width: float, height: float | None) -> str: ...
def widths() -> tuple[float, float]: ...
def page(
    folder: str | PathLike[str],
    title: str,
    verdict: str,
    table: tuple[Sequence[str], Sequence[Sequence[str]]],
    charts: str,
    again: tuple[str, int, str],
) -> None: ...
def schema_of_results() -> str: ...
def schema_of_devices() -> str: ...
def presets() -> str: ...
def workloads() -> str: ...
