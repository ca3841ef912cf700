"""Runs of studies on a Dask cluster, for ``Study.run(client)`` and ``wordline sweep --cluster ADDRESS``. Requires the
extra ``cluster`` of the package.

The store of the study is the only record. Runs that do not come back from the cluster are sent again, even if a
worker, its machine or the scheduler was killed.

``python -m wordline.cluster worker ADDRESS`` starts a Dask worker, and restarts it whenever it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _native
from ._design import Designs, described
from ._errors import Error

if TYPE_CHECKING:
    from ._native import Ended, Task

BATCH_SECONDS = 0.5
"""Approximate total time of the runs of a batch. Chosen: a task costs Dask 4 ms, and little work is lost with a
worker.
"""

_MOST_IN_A_BATCH = 200
# Chosen: 200 results of 67 KB are 13 MB.

_LOOK_SECONDS = 0.01
# Interval between two polls for finished work. Chosen: workers have another batch to continue with meanwhile.

_PATIENCE_SECONDS = 600.0
# Time to wait for a scheduler. Chosen: a job queue or an administrator restarts it within this time, or never.

_GATHER_SECONDS = 5.0
# Timeout for fetching a result. Chosen: 13 MB take a second on a slow network.

_GATHER_AGAIN_SECONDS = 30.0
# Time before a result is fetched again. Dask gives up on an unresponsive worker after this time
# (`distributed.comm.timeouts.tcp`).


class _Done(NamedTuple):
    """A finished batch."""

    seconds: float
    files: list[tuple[str, str | None]]
    """For each run, its record and its windows."""


class _NoTrace(NamedTuple):
    """A worker does not have a trace that a run needs."""

    host: str


class _Refused(NamedTuple):
    """A worker has another version of the program, or another trace."""

    sentence: str


class _Wrong(NamedTuple):
    """An unexpected error, which is not an `Error` of the package."""

    exception: str


_Batch: TypeAlias = "list[Task]"
_Told: TypeAlias = "_Done | _NoTrace | _Refused | _Wrong"


def _is_here(folder: str, file: str) -> bool:
    """Whether this machine has a trace at the path that the study gives."""
    return Path(folder, file).exists()


def _stage(file: str, sha256: str, content: bytes | None) -> Path | None:
    """Returns a folder on this machine that has the trace, for use in place of the study's folder. The trace is
    stored there once. Returns None if it is not stored and no content was sent.
    """
    folder = Path(tempfile.gettempdir()) / f"wordline-traces-{os.getuid()}" / sha256
    path = folder / file
    if path.is_file():
        return folder
    if content is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as beside:
        beside.write(content)
    os.replace(beside.name, path)
    return folder


def _work(program: str, batch: _Batch, contents: dict[str, bytes], designs: Designs | None = None) -> _Told:
    """Executes the runs of a batch on a worker. Errors are returned, because Dask loses an exception whose traceback
    cannot be pickled.
    """
    host = os.uname().nodename
    if _native.program() != program:
        return _Refused(f"a worker on {host} with {_native.program()}, wanted {program}, the program of the study")
    began, done = time.perf_counter(), list[tuple[str, "str | None"]]()
    try:
        # A class may be sent by name only, and then have another text on this machine.
        designs = designs and {label: given and described(given[0]) for label, given in designs.items()}
        for _, text, trace in batch:
            folder = None
            if trace is not None and not _is_here(trace[0], trace[1]):
                folder = _stage(trace[1], trace[2], contents.get(trace[2]))
                if folder is None:
                    return _NoTrace(host)
            files, raised = _native.carry_out(text, folder, designs)
            if raised is not None:
                raise raised
            assert files is not None, "only an exception stops it"
            done.append(files)
    except Error as refused:
        return _Refused(f"{refused} (on {host})")
    except Exception as wrong:
        return _Wrong(f"{wrong!r} (on {host})")
    return _Done(time.perf_counter() - began, done)


class Cluster:
    """Workers of a Dask scheduler, as an executor of runs of studies."""

    def __init__(self, client: Any, *, patience: float = _PATIENCE_SECONDS, designs: Designs | None = None) -> None:
        self._dask: Any = import_module("distributed")
        self._client, self._is_own = client, False
        self._address: str = client.scheduler.address
        self._security: Any = client.security
        self._patience = patience
        self._designs = designs
        self._flying: dict[Any, _Batch] = {}
        self._later: dict[Any, float] = {}
        """Results that did not arrive, each with the time at which to fetch it again."""
        self._waiting: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._alone: Any = None
        """The batch that runs while no other batch does."""
        self._contents: dict[str, Any] = {}
        self._seconds: float | None = None
        """Mean time of a run, over recent runs."""
        self._threads, self._counted_at = 0, float("-inf")
        self._without_workers: float | None = None

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Ended]:
        """Executes runs. Yields the outcome of each run as soon as it ends."""
        self._waiting.extend(tasks)
        try:
            while self._waiting or self._flying or self._suspects:
                if not self._is_connected():
                    self._lose(self._flying)
                    self._contents.clear()
                    self._connect()
                    continue
                self._submit()
                ended = list(self._ended())
                yield from ended
                if not ended:
                    time.sleep(_LOOK_SECONDS)
        finally:
            self._waiting.clear()
            self._suspects.clear()
            if self._flying and self._is_connected():
                self._client.cancel(list(self._flying), force=True)
            self._flying.clear()

    def close(self) -> None:
        """Closes the connection, if this object opened it."""
        if self._is_own:
            self._client.close(timeout=1)

    def _is_connected(self) -> bool:
        return bool(self._client.status == "running")

    def _connect(self) -> None:
        """Waits for the scheduler. A Dask client retries for a while and then closes, so a new client is opened."""
        until = time.monotonic() + self._patience
        while not self._is_connected():
            if time.monotonic() > until:
                raise _refused(f"no scheduler at {self._address} for {self._patience:.0f} s", "one that is restarted")
            if self._client.status == "closed":
                self.close()
                with contextlib.suppress(OSError, TimeoutError):
                    self._client = self._dask.Client(
                        self._address, timeout=5, security=self._security, set_as_default=False
                    )
                    self._is_own = True
            time.sleep(0.1)
        self._counted_at = float("-inf")

    def _lose(self, futures: Iterable[Any]) -> None:
        """Puts the runs of these futures back at the head of the queue."""
        for future in list(futures):
            self._waiting.extendleft(reversed(self._flying.pop(future)))
            self._later.pop(future, None)

    def _count(self) -> int:
        """Total threads of all workers, counted once a second."""
        if time.monotonic() - self._counted_at > 1:
            self._counted_at = time.monotonic()
            with contextlib.suppress(OSError, TimeoutError):
                counts: dict[str, int] = self._client.sync(self._client.scheduler.ncores, workers=None, callback_timeout=5)
                self._threads = sum(counts.values())
            if self._threads:
                self._without_workers = None
            elif self._without_workers is None:
                self._without_workers = time.monotonic() + 30
            elif time.monotonic() > self._without_workers:
                warnings.warn(f"no worker is connected with {self._address}", stacklevel=2)
                self._without_workers = float("inf")
        return self._threads

    def _submit(self) -> None:
        """Gives every thread a batch to work on, and a batch to continue with."""
        threads = self._count()
        while self._waiting and len(self._flying) < 2 * threads:
            # At the end there are as many batches as threads, so that all threads finish at about the same time.
            share = -(-len(self._waiting) // (2 * threads))
            fits = 1 if self._seconds is None else int(BATCH_SECONDS / max(self._seconds, 1e-6))
            size = max(1, min(fits, share, _MOST_IN_A_BATCH))
            self._fly([self._waiting.popleft() for _ in range(min(size, len(self._waiting)))])
        # Runs that were in progress when four workers died are executed one at a time, to find the run that kills
        # workers.
        if self._suspects and threads and not self._waiting and not self._flying:
            self._alone = self._fly([self._suspects.popleft()])

    def _fly(self, batch: _Batch) -> Any:
        wanted = {trace[2] for _, _, trace in batch if trace is not None}
        self._contents = {sha256: content for sha256, content in self._contents.items() if content.status == "finished"}
        contents = {sha256: content for sha256, content in self._contents.items() if sha256 in wanted}
        key = f"wordline-{uuid.uuid4().hex}"
        future = self._client.submit(_work, _native.program(), batch, contents, self._designs, key=key, pure=False)
        self._flying[future] = batch
        return future

    def _ended(self) -> Iterator[Ended]:
        for future in list(self._flying):
            status: str = future.status
            if status == "pending" or self._later.get(future, 0) > time.monotonic():
                continue
            if status == "finished":
                yield from self._finished(future)
            elif status == "error":
                yield from self._wrong(future)
            else:
                self._lose([future])

    def _finished(self, future: Any) -> Iterator[Ended]:
        try:
            told: _Told = future.result(timeout=_GATHER_SECONDS)
        except TimeoutError:
            # The worker does not respond.
            self._later[future] = time.monotonic() + _GATHER_AGAIN_SECONDS
            return
        except (OSError, self._dask.CancelledError):
            self._lose([future])
            return
        if isinstance(told, _NoTrace):
            self._send_traces(self._flying[future], told)
            self._lose([future])
            return
        if isinstance(told, _Refused):
            raise Error(f"cluster: found {told.sentence}")
        if isinstance(told, _Wrong):
            yield from self._suspect(future, told.exception)
            return
        batch = self._flying.pop(future)
        self._later.pop(future, None)
        each = told.seconds / len(batch)
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        for (name, _, _), (run, windows) in zip(batch, told.files, strict=True):
            yield name, run, windows, None

    def _send_traces(self, batch: _Batch, told: _NoTrace) -> None:
        """Sends the traces of a batch to the machines that do not have them."""
        for _, _, trace in batch:
            if trace is None or trace[2] in self._contents:
                continue
            path = Path(trace[0], trace[1])
            if not path.is_file():
                raise _refused(f"no {path} on {told.host}", "a folder of traces that all machines share, as it is not a single file")
            with contextlib.suppress(OSError, TimeoutError):
                self._contents[trace[2]] = self._client.scatter(path.read_bytes())

    def _wrong(self, future: Any) -> Iterator[Ended]:
        try:
            error: BaseException = future.exception(timeout=_GATHER_SECONDS)
        except (OSError, TimeoutError, self._dask.CancelledError):
            self._lose([future])
            return
        if isinstance(error, ImportError | AttributeError):
            raise _refused(f"a worker that says {error}", f"workers that have {_native.program()}: pip install 'wordline[cluster]'")
        killed: Any = error
        is_killed = isinstance(error, self._dask.scheduler.KilledWorker)
        text = f"workers that were killed while they did it: {killed.allowed_failures + 1}" if is_killed else repr(error)
        yield from self._suspect(future, text)

    def _suspect(self, future: Any, error: str) -> Iterator[Ended]:
        """Handles a batch that contains a faulty run. If the batch ran alone, its run has failed. Otherwise its runs
        are suspects, which run alone later.
        """
        batch = self._flying.pop(future)
        if future is not self._alone:
            self._suspects.extend(batch)
            return
        for name, _, _ in batch:
            yield name, None, None, error


def _refused(found: str, wanted: str) -> Error:
    return Error(f"cluster: found {found}, wanted {wanted}", [(None, None, "cluster", found, wanted)])


def _run(address: str) -> None:
    """Executes the runs that ``wordline sweep --cluster`` sends on standard input. Each line is a list of runs."""
    # Ctrl-C reaches both processes, and the other program ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = sys.stdout
    sys.stdout = sys.stderr

    def answer(**said: object) -> None:
        print(json.dumps(said), file=answers, flush=True)

    try:
        dask: Any = import_module("distributed")
        client = dask.Client(address, timeout=30, set_as_default=False)
    except (ImportError, OSError, TimeoutError, ValueError) as wrong:
        answer(refused=str(wrong))
        return
    place = Cluster(client)
    answer(program=_native.program())
    try:
        for line in sys.stdin:
            asked: list[dict[str, Any]] = json.loads(line)
            tasks: list[Task] = [(one["name"], one["text"], one["trace"] and tuple(one["trace"])) for one in asked]
            for name, run, windows, error in place(tasks):
                if run is None:
                    answer(failed={"name": name, "error": error})
                else:
                    answer(done={"name": name, "run": run, "windows": windows})
            answer(over={})
    except Error as refused:
        answer(refused=str(refused))
    finally:
        place.close()
        client.close(timeout=1)


def _keep_working(address: str, arguments: list[str]) -> None:
    """Runs a Dask worker. Starts another one when it ends, until this program is stopped."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *arguments]
    while True:
        worker = subprocess.Popen(command)

        def end(number: int, _: object, worker: subprocess.Popen[bytes] = worker) -> None:
            worker.terminate()
            try:
                # Chosen: a worker returns its results within a second. If it does not, its scheduler is gone and it
                # waits for it.
                worker.wait(5)
            except subprocess.TimeoutExpired:
                worker.kill()
            sys.exit(128 + number)

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        worker.wait()
        # Chosen: a scheduler that does not exist yet is tried once a second.
        time.sleep(1)


_USAGE = """\
usage: python -m wordline.cluster run ADDRESS                 does the runs of wordline sweep --cluster
       python -m wordline.cluster worker ADDRESS [ARGUMENT ...]  keeps a worker; arguments are those of dask worker"""


def main(arguments: list[str]) -> None:
    """Entry point of this module."""
    match arguments:
        case ["run", address]:
            _run(address)
        case ["worker", address, *more]:
            _keep_working(address, more)
        case _:
            sys.exit(_USAGE)


if __name__ == "__main__":
    # Dask workers find the functions of this module by its name.
    import_module("wordline.cluster").main(sys.argv[1:])
