"""Exceptions of the package. Their sentences are those of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._run import Result


class Finding(NamedTuple):
    """One thing that is wrong with an input."""

    file: str | None
    """The file, the preset or the setting in which it was written, where it is known."""
    line: int | None
    """The line of the file, counted from 1."""
    key: str | None
    """The key of a configuration, or the name of an argument."""
    found: str
    """The value found."""
    wanted: str
    """The value that would be right."""


class Error(Exception):
    """Anything that Wordline refuses or cannot do."""

    findings: tuple[Finding, ...]
    """Everything that is wrong with the input, one by one."""
    reproducer: str
    """Where the simulation itself failed, what repeats it; else empty."""

    def __init__(self, message: str, findings: Iterable[tuple[object, ...]] = (), reproducer: str = "") -> None:
        super().__init__(message)
        self.findings = tuple(Finding(*finding) for finding in findings)  # type: ignore[arg-type]  # made by the native part
        self.reproducer = reproducer


class ConfigError(Error):
    """A setting of a device, a workload or a run that cannot be used."""


class TraceError(Error):
    """A trace that cannot be read."""


class DesignError(Error):
    """A design gave an answer that is not allowed."""


class ContractError(DesignError):
    """A design that does not keep the contract of designs. Where it raised an exception itself, that is the ``__cause__``."""

    trial: str
    """The trial in which it was found: ``usual``, ``faults``, ``power-cuts`` or ``snapshots``."""
    seed: int
    """The seed of the trial."""
    time_ps: int
    """The time on the device, in picoseconds."""

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
    """A check of the simulation failed: a bug in Wordline."""


class Interrupted(KeyboardInterrupt):
    """A run that the user stopped."""

    result: Result | None
    """The result of what was answered by then; `None` where that was nothing."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__("the run was stopped")
        self.result = result
