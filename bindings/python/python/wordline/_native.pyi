"""The native part of the package, as used by its Python part."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self, TypeAlias

_Columns: TypeAlias = "Sequence[Any]"

_Designs: TypeAlias = Mapping[str, tuple[object, str] | None]
Task: TypeAlias = tuple[str, str, tuple[str, str, str] | None]
"""A run of a study: its name, its text, and the folder, file and hash of the trace that it replays."""
Ended: TypeAlias = tuple[str, str | None, str | None, str | None]
"""Outcome of a run: its name, its record, its windows, and its error. A run with an error has no record."""
Place: TypeAlias = Callable[[list[Task]], Iterable[Ended]]
"""An executor of runs other than this machine."""

__version__: str
"""Version of the package."""

class Device:
    @staticmethod
    def preset(name: str) -> Device: ...
    @staticmethod
    def file(path: str | PathLike[str]) -> Device: ...
    @staticmethod
    def snapshot(path: str | PathLike[str]) -> Device: ...
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
    @staticmethod
    def read(name: str, text: str) -> Summary: ...
    def json(self) -> str: ...
    def json_indented(self) -> str: ...
    def table(self, columns: int) -> str: ...

class Study:
    @staticmethod
    def file(path: str | PathLike[str], designs: _Designs) -> Study: ...
    @staticmethod
    def of_keys(name: str, keys: Mapping[str, object], designs: _Designs) -> Study: ...
    @staticmethod
    def of_text(name: str, text: str, designs: _Designs) -> Study: ...
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
    def missing(self, settings: dict[str, object], shard: tuple[int, int] | None) -> list[Task]: ...

class RunStore:
    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def add(self, name: str, run: str, windows: str | None) -> bool: ...
    def merge(self, path: str | PathLike[str]) -> tuple[int, int]: ...
    def has(self, name: str) -> bool: ...
    def count(self) -> int: ...

class StudyTable:
    def json(self) -> str: ...
    def table(self, columns: int) -> str: ...
    def html(self) -> str: ...
    def combinations(self) -> ArrowTable: ...
    def runs(self) -> ArrowTable: ...
    def write_runs(self, path: str | PathLike[str]) -> None: ...

class ArrowTable:
    @staticmethod
    def of_columns(columns: Sequence[tuple[str, Sequence[Any]]]) -> ArrowTable: ...
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Kind:
    def __new__(
        cls,
        name: str,
        decisions: Sequence[str],
        looks_at: int,
        streams: tuple[int, int],
        texts: tuple[str | None, str | None],
        counters: Sequence[tuple[str, str, str]],
    ) -> Self: ...

class Block:
    """A block that GC could collect, or whose data could move."""

    @property
    def number(self) -> int:
        """Number of the block in the device."""
    @property
    def valid(self) -> int:
        """Valid logical pages."""
    @property
    def erases(self) -> int:
        """Erase count."""
    @property
    def age(self) -> int:
        """Number of blocks that the device has opened since this one."""

class View:
    """The device at the time at which a design selects a victim."""

    @property
    def pages(self) -> int:
        """Logical pages per block."""
    @property
    def row(self) -> int:
        """Number of the plane group in which GC needs a victim."""
    @property
    def free_blocks(self) -> int:
        """Free blocks of the plane group."""
    @property
    def now_ps(self) -> int:
        """Simulated time, in picoseconds."""
    def oldest(self, count: int) -> list[Block]:
        """The ``count`` blocks that were closed first, the oldest first. There may be fewer."""
    def fewest(self, count: int) -> list[Block]:
        """The ``count`` blocks with the fewest valid pages, the fewest first. There may be fewer."""

class Wearing:
    """A plane group at the time at which a design can select one of its blocks with cold data."""

    @property
    def row(self) -> int:
        """Number of the plane group."""
    @property
    def blocks(self) -> int:
        """Number of blocks of the plane group."""
    @property
    def first(self) -> int:
        """Number, in the device, of the first block of the plane group."""
    @property
    def free_blocks(self) -> int:
        """Free blocks of the plane group."""
    @property
    def pages(self) -> int:
        """Logical pages per block."""
    @property
    def erases(self) -> int:
        """Sum of the erase counts of all blocks."""
    @property
    def most_erases(self) -> int:
        """Greatest erase count of all blocks."""
    @property
    def erased(self) -> list[int]:
        """Numbers of the blocks that were erased since the last call for this plane group, in order."""
    def block(self, number: int) -> Block | None:
        """The block with this number in the device. ``None`` if its data cannot move now, because it is free, being
        written, or in another plane group.
        """
    def least_erased(self, count: int) -> list[Block]:
        """The ``count`` blocks with the lowest erase counts among those whose data can move now. Among equal counts
        the lower number comes first. There may be fewer.
        """
    def oldest(self, count: int) -> list[Block]:
        """The ``count`` blocks that were opened first among those whose data can move now, the oldest first. There
        may be fewer.
        """

class Arriving:
    """A page that the host writes, when it arrives at the write buffer."""

    @property
    def logical(self) -> int:
        """Logical page number."""
    @property
    def now_ps(self) -> int:
        """Simulated time, in picoseconds."""

class Moved:
    """A valid page of a victim of GC."""

    @property
    def logical(self) -> int:
        """Logical page number."""
    @property
    def moved_by(self) -> int | None:
        """GC stream that wrote the block of the page; ``None`` if the block was written for the host."""

class Written:
    """A page that is being destaged."""

    @property
    def logical(self) -> int:
        """Logical page number."""
    @property
    def tag(self) -> int:
        """Stream number of the last host write to the page; 0 for none."""
    @property
    def sectors(self) -> int:
        """Number of sectors of the page that the host wrote."""
    @property
    def request_sectors(self) -> int:
        """Number of sectors of the whole request that wrote to the page last."""
    @property
    def request_sector(self) -> int:
        """First sector of the whole request that wrote to the page last."""

class Resting:
    """A plane group while the host is idle."""

    @property
    def row(self) -> int:
        """Number of the plane group."""
    @property
    def free_blocks(self) -> int:
        """Free blocks of the plane group."""
    @property
    def good_blocks(self) -> int:
        """Blocks of the plane group that are not bad."""
    @property
    def full_blocks(self) -> int:
        """Number of blocks that the valid pages would fill. The other good blocks are spare."""
    @property
    def cached_blocks(self) -> int:
        """Blocks in SLC mode, if the device has an SLC cache."""

class Failure:
    """An operation that failed in a block."""

    @property
    def failed(self) -> Literal["program", "erase", "read", "refused"]:
        """The operation that failed. ``refused`` is a program that a design did not accept."""
    @property
    def block(self) -> int:
        """Number of the block in the device."""
    @property
    def times(self) -> int:
        """Number of failures of this operation in this block, including this one."""
    @property
    def erases(self) -> int:
        """Erase count."""

class Random:
    """Random stream of a design. Equal seeds give equal numbers."""

    def below(self, bound: int) -> int:
        """A uniform integer of at least 0 and less than ``bound``."""
    def random(self) -> float:
        """A uniform number of at least 0 and less than 1."""

class Stop:
    def __new__(cls) -> Self: ...
    def set(self) -> None: ...
    def is_set(self) -> bool: ...
    def progress(self) -> tuple[str, int, int | None]: ...

class Session:
    def __new__(cls, device: Device, workload: Workload, settings: dict[str, object]) -> Self: ...
    def submit_one(self, time: int, op: int, sector: int, length: int) -> int: ...
    def submit(self, columns: _Columns) -> tuple[int, BaseException | None]: ...
    def advance(self, until: int | None, completions: int | None, taken: bool, stop: Stop | None) -> bool: ...
    def completions(self) -> bytes: ...
    @property
    def now(self) -> int: ...
    @property
    def standing(self) -> tuple[int, int, int, int, int, int, bool]: ...
    def summary(self) -> Summary: ...
    def report_zones(self) -> list[tuple[int, int, int | None, str]]: ...
    def cut_power(self) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def finish(self) -> tuple[Summary | None, BaseException | None]: ...

def run(
    device: Device, workload: Workload, settings: dict[str, object], log: bool
) -> tuple[Summary | None, ArrowTable | None, BaseException | None]: ...
def carry_out(
    text: str, traces: str | PathLike[str] | None, designs: _Designs | None, stop: Stop | None = None
) -> tuple[tuple[str, str | None] | None, BaseException | None]: ...
def program() -> str: ...
def check_contract(design: object) -> None: ...
def check_restored(design: object) -> None: ...
def pack_log(log: ArrowTable) -> list[list[bytes]]: ...
def unpack_log(batches: Sequence[Sequence[bytes]]) -> ArrowTable: ...
def embedded(runs: Sequence[Summary]) -> str: ...
def sheet(name: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str: ...
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
