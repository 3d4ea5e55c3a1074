"""One execution of a program that the service knows."""
from __future__ import annotations

import time
from typing import Awaitable, Callable, Optional

from ..errors import CodecellError, StillRunning, Unreachable
from ..http.transport import Request, Transport, segment
from ..wire.decode import decode
from ..wire.event import RunEvent
from ..wire.run import RunResult
from ..wire.session import Receipt, StdinSent
from .events import RunEvents
from .sources import Source, body_of

WAIT_SECONDS = 60
CANCEL_SECONDS = 20


class AsyncRun:
    """A run. `await run.result()` waits for its end; `async for event in run` shows what happens until then.

    The run continues if nobody waits for it. `session.attach(run_id, offset)` continues in another process. As a context manager,
    it cancels the run at the end of the block if it is still running.
    """

    def __init__(self, transport: Transport, session_id: str, run_id: str, offset: int = 0) -> None:
        self._transport = transport
        self._path = "/v1/sessions/%s/runs/%s" % (segment(session_id), segment(run_id))
        self._ended: Optional[RunResult] = None
        self._events: Optional[RunEvents] = None
        self._offset = offset
        self.session_id = session_id
        self.run_id = run_id

    def __repr__(self) -> str:
        return "%s(%r, %r)" % (type(self).__name__, self.session_id, self.run_id)

    @property
    def next_offset(self) -> int:
        """The offset of the first event that was not read yet: for `session.attach`."""
        return self._offset if self._events is None else self._events.next_offset

    def remember(self, run: RunResult) -> RunResult:
        if not run.is_running:
            self._ended = run
        return run

    async def status(self) -> RunResult:
        """The result, or the output so far."""
        return self._ended or self.remember(decode(RunResult, await self._transport.json(Request("GET", self._path, retry=True))))

    async def result(self, timeout: Optional[float] = None, check: bool = False) -> RunResult:
        """Waits for the result. After `timeout` seconds it raises StillRunning, and the run continues.

        With `check`, a program that fails raises ProgramError.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while self._ended is None:
            left = WAIT_SECONDS if until is None else max(0.0, min(WAIT_SECONDS, until - time.monotonic()))
            request = Request("GET", self._path, {"wait": round(left, 3)}, wait=left, retry=True)
            self.remember(decode(RunResult, await self._transport.json(request)))
            if self._ended is None and until is not None and time.monotonic() >= until:
                raise StillRunning(self.run_id)
        return self._ended.check() if check else self._ended

    async def cancel(self, wait: float = CANCEL_SECONDS) -> RunResult:
        """Stops the run: it is interrupted, which keeps the variables, and killed if it ignores that. Waits for its end."""
        # Cancelling twice does no harm.
        request = Request("POST", self._path + "/cancel", {"wait": wait}, wait=wait, retry=True)
        return self.remember(decode(RunResult, await self._transport.json(request)))

    async def interrupt(self, wait: float = 0) -> RunResult:
        """Interrupts the run once, as Ctrl-C does. The program can catch it; a second call kills one that ignores the first."""
        request = Request("POST", self._path + "/interrupt", {"wait": wait}, wait=wait)
        return self.remember(decode(RunResult, await self._transport.json(request)))

    async def send_stdin(self, source: Source) -> StdinSent:
        """Sends the whole standard input of a run that was started with `stdin_stream=True`."""
        body, length, close = body_of(source, self._transport.runtime)
        try:
            return decode(StdinSent, await self._transport.json(Request("PUT", self._path + "/stdin", body=body, length=length)))
        finally:
            close()

    async def receipt(self) -> Receipt:
        """What was enforced during the run, rule by rule. The run has to be over."""
        return decode(Receipt, await self._transport.json(Request("GET", self._path + "/receipt", retry=True)))

    async def next_event(self) -> Optional[RunEvent]:
        """The next event, or None after the result. A cut connection is made again where it was."""
        if self._events is None:
            self._events = RunEvents(self._transport, self._path + "/events", self._offset)
        event = await self._events.next()
        if self._events.ended is not None:
            self.remember(self._events.ended.run)
        return event

    async def leave(self) -> None:
        """Stops reading events. The run continues."""
        if self._events is not None:
            self._events.close()

    async def end(self) -> None:
        """Cancels the run if it is still running."""
        await self.leave()
        if self._ended is None:
            await self.cancel_quietly()

    async def cancel_quietly(self) -> None:
        try:
            await self._transport.runtime.finish(self.cancel(wait=0), ignored)
        except CodecellError:
            pass  # it has ended, or nobody can be told

    async def until_end(self, work: Callable[[], Awaitable[RunResult]]) -> RunResult:
        """Waits, and cancels the run if the caller is interrupted or cancelled meanwhile."""
        try:
            return await work()
        except Unreachable:
            raise  # nobody can be told
        except BaseException:
            if self._ended is None:
                await self.cancel_quietly()
            raise

    def __aiter__(self) -> "AsyncRun":
        return self

    async def __anext__(self) -> RunEvent:
        event = await self.next_event()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> "AsyncRun":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()


async def ignored(_: RunResult) -> None:
    pass
