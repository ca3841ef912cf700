"""Exceptions of the package. Their messages are those of the command line."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable
from typing import NamedTuple


class Finding(NamedTuple):
    """One fault of an input."""

    file: str | None
    """File, preset or setting that contains the fault, if known."""
    line: int | None
    """Line of the file, counted from 1."""
    key: str | None
    """Key of a configuration, or name of an argument."""
    found: str
    """Value found."""
    wanted: str
    """Value expected."""


class Error(Exception):
    """The base of all errors: Wordline rejects an input, or cannot do what was asked."""

    findings: tuple[Finding, ...]
    """All faults of the input."""
    reproducer: str
    """Data to reproduce the error, if the simulation itself failed; otherwise empty."""

    def __init__(self, message: str, findings: Iterable[tuple[object, ...]] = (), reproducer: str = "") -> None:
        super().__init__(message)
        self.findings = tuple(Finding(*finding) for finding in findings)  # type: ignore[arg-type]  # made by the native part
        self.reproducer = reproducer


class ConfigError(Error):
    """An invalid setting of a device, a workload or a run."""


class TraceError(Error):
    """A trace that cannot be read."""


class DesignError(Error):
    """A design made an invalid decision."""


class ContractError(DesignError):
    """A design violates the contract of designs. If the design raised an exception, it is the ``__cause__``."""

    trial: str
    """Trial that found the violation: ``usual``, ``faults``, ``power-cuts`` or ``snapshots``."""
    seed: int
    """Seed of the trial."""
    time_ps: int
    """Simulated time of the violation, in picoseconds."""

    def __init__(
        self,
        message: str,
        findings: Iterable[tuple[object, ...]] = (),
        reproducer: str = "",
        trial: str = "",
        seed: int = 0,
        time_ps: int = 0,
    ) -> None:
        super().__init__(message, findings, reproducer)
        self.trial, self.seed, self.time_ps = trial, seed, time_ps


class Fault(Error):
    """A self-check of the simulation failed: a bug in Wordline."""


def told(name: str, raised: BaseException) -> str:
    """Describes the exception of a design in one line: its message, or the line of the design that raised it."""
    if isinstance(raised, Error):
        return str(raised)
    said = "".join(traceback.format_exception_only(raised)).strip()
    frames = traceback.extract_tb(raised.__traceback__)
    at = f", in line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)}, {frames[-1].name}" if frames else ""
    return f"the design {name} raised {said}{at}"
