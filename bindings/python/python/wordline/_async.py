"""Runs functions of the native part in asyncio tasks."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from . import _native

T = TypeVar("T")


async def in_thread(work: Callable[[_native.Stop], T], stop: _native.Stop | None = None) -> T:
    """Calls `work` in a new thread and returns its result. If the task is cancelled, `work` is stopped; the task ends
    when the thread has ended. ``stop`` is the stop of a handle, if there is one.
    """
    loop, stop = asyncio.get_running_loop(), stop or _native.Stop()
    over: asyncio.Future[None] = loop.create_future()
    done: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work(stop))
        except BaseException as error:  # raised again below, because a future cannot hold a `StopIteration`
            raised.append(error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed
            loop.call_soon_threadsafe(over.set_result, None)

    thread = threading.Thread(target=run, name="wordline", daemon=True)
    thread.start()
    cancelled: asyncio.CancelledError | None = None
    while not over.done():
        try:
            await asyncio.shield(over)
        except asyncio.CancelledError as error:
            stop.set()
            cancelled = error
    thread.join()
    if cancelled is not None:
        raise cancelled
    if raised:
        raise raised[0]
    return done[0]
