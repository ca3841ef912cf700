"""Wordline simulates solid-state drives: what would this workload do to that SSD?

>>> import wordline as wl
>>> drive = wl.Device("nvme-tlc")
>>> drive.ftl.over_provisioning = 0.28
>>> load = wl.Workload("mixed-70-30", requests=1_000_000)
>>> old, new = wl.run("nvme-tlc", load, seed=1), wl.run(drive, load, seed=1)
>>> print(new.host.read_latency_us.p99, new.write_amplification)
>>> wl.compare(old, new).chart("latency-tail", width=wl.COLUMN).save("tail.pdf")

`Device` describes a device, and `Workload` its requests. `run` runs a workload on a device. `Session` does so step by
step. `Study` executes many runs.
"""

from typing import TYPE_CHECKING, Any

from ._compare import Comparison, compare
from ._design import Arriving, Block, Counter, Design, Failure, Moved, Random, Resting, View, Wearing, Written, contract, counter
from ._device import Described, Device, presets
from ._errors import ConfigError, ContractError, DesignError, Error, Fault, Finding, TraceError
from ._figure import COLUMN, PAGE, Figure
from ._handle import Handle, Progress
from ._log import Log
from ._run import Cancelled, Interrupted, Result, Start, load, run, run_async
from ._run import __version__ as __version__
from ._session import Session, Standing, Zone
from ._study import Cell, Plan, Row, Runs, Study, StudyTable
from ._table import Table, Tables, Value
from ._task import Store, Task, TaskResult, carry_out
from ._workload import Pace, Workload, workloads

if TYPE_CHECKING:
    from ._columns import ANSWER, Op
    from ._search import Search, Trial

__all__ = [
    "ANSWER",
    "COLUMN",
    "PAGE",
    "Arriving",
    "Block",
    "Cancelled",
    "Cell",
    "Comparison",
    "ConfigError",
    "ContractError",
    "Counter",
    "Described",
    "Design",
    "DesignError",
    "Device",
    "Error",
    "Failure",
    "Fault",
    "Figure",
    "Finding",
    "Handle",
    "Interrupted",
    "Log",
    "Moved",
    "Op",
    "Pace",
    "Plan",
    "Progress",
    "Random",
    "Resting",
    "Result",
    "Row",
    "Runs",
    "Search",
    "Session",
    "Standing",
    "Start",
    "Store",
    "Study",
    "StudyTable",
    "Table",
    "Tables",
    "Task",
    "TaskResult",
    "TraceError",
    "Trial",
    "Value",
    "View",
    "Wearing",
    "Workload",
    "Written",
    "Zone",
    "carry_out",
    "compare",
    "contract",
    "counter",
    "load",
    "presets",
    "run",
    "run_async",
    "workloads",
]


def __getattr__(name: str) -> Any:
    """Imports some names on first use. ``ANSWER`` and ``Op`` need NumPy, whose import takes longer than that of
    everything else. ``Search`` and ``Trial`` are only needed by searches.
    """
    if name in ("ANSWER", "Op"):
        from . import _columns

        return getattr(_columns, name)
    if name in ("Search", "Trial"):
        from . import _search

        return getattr(_search, name)
    raise AttributeError(f"module 'wordline' has no attribute {name!r}")
