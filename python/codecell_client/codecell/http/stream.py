"""What HTTP needs of a connection and of the program's way to wait. There are two: blocking sockets and asyncio.

The code above this file is written as coroutines. With blocking sockets they never suspend, so `drive` runs them to their end
in the calling thread. Thus both APIs share every line that can be wrong, and neither starts threads to imitate the other.
"""
from __future__ import annotations

import time
from typing import Any, Awaitable, Callable, Coroutine, Optional, Protocol, TypeVar

from ..errors import Unreachable
from .address import Address

T = TypeVar("T")


class Stream(Protocol):
    """A connection. Errors are OSError; a wait that is too long is TimeoutError."""

    async def read(self, limit: int, seconds: float) -> bytes:
        """At least one byte, or none at the end."""
        ...

    async def write(self, data: bytes, seconds: float) -> bool:
        """Sends all. False: the other side has answered or gone away before, so the rest is not needed."""
        ...

    def is_idle(self) -> bool:
        """Whether nothing was received and the other side has not closed it."""
        ...

    def reset(self) -> None:
        """Called before the next request on it."""
        ...

    def close(self) -> None: ...


class Job(Protocol):
    """Work in the background."""

    async def stop(self) -> None: ...


class Slots(Protocol):
    """How many may do something at once."""

    async def acquire(self) -> bool: ...

    def release(self) -> None: ...


class Runtime(Protocol):
    """How to connect, wait and work in the background."""

    async def connect(self, address: Address, seconds: float) -> Stream: ...

    async def sleep(self, seconds: float) -> None: ...

    async def finish(self, work: Coroutine[Any, Any, T], afterwards: Callable[[T], Awaitable[object]]) -> T:
        """The result of the work. If the caller is cancelled meanwhile, the work is finished and then `afterwards` runs."""
        ...

    async def settle(self) -> None:
        """Waits for what cancelled callers have left to be finished."""
        ...

    async def end_jobs(self) -> None: ...

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Runs blocking work so that it blocks nobody else."""
        ...

    def slots(self, count: int) -> Slots: ...

    async def call(self, function: Callable[..., Any], call: Callable[[], Any]) -> Any:
        """Calls a function of the user, which may be a coroutine function."""
        ...

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> Job: ...


class Patience:
    """How long to wait: `idle` for each step, and `total` for all of them."""

    def __init__(self, idle: float, total: Optional[float] = None) -> None:
        self._idle = idle
        self._end = None if total is None else time.monotonic() + total

    def left(self) -> float:
        if self._end is None:
            return self._idle
        left = self._end - time.monotonic()
        if left <= 0:
            raise Unreachable("the service did not answer in time")
        return min(self._idle, left)


def drive(work: Any) -> Any:
    """Runs a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a blocking call tried to suspend")
