"""Exceptions of the package. Their messages are those of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._run import Result


class Finding(NamedTuple):
    """One mistake in an input."""

    file: str | None
    """File, preset or setting that contains it, if known."""
    line: int | None
    """Line of the file, counted from 1."""
    key: str | None
    """Key of a configuration, or name of an argument."""
    found: str
    """Value found."""
    wanted: str
    """Value expected."""


class Error(Exception):
    """Anything that Wordline rejects or cannot do."""

    findings: tuple[Finding, ...]
    """All mistakes in the input, one by one."""
    reproducer: str
    """Reproducer, if the simulation itself failed; otherwise empty."""

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
    """A design breaks the contract of designs. If it raised an exception itself, that is the ``__cause__``."""

    trial: str
    """Trial in which it was found: ``usual``, ``faults``, ``power-cuts`` or ``snapshots``."""
    seed: int
    """Seed of the trial."""
    time_ps: int
    """Simulated time, in picoseconds."""

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


class Interrupted(KeyboardInterrupt):
    """A run that the user stopped."""

    result: Result | None
    """Result of the requests completed before the stop; `None` if there were none."""

    def __init__(self, result: Result | None = None) -> None:
        super().__init__("the run was stopped")
        self.result = result
