"""asyncio's transports and tasks. Cancelling a task closes its connection at once, and no thread waits for a socket."""
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import socket
import ssl
from typing import Any, Awaitable, Callable, Coroutine, Optional, Set, TypeVar

from .address import Address
from .proxy import MAX_ANSWER, check_answer, proxy_for
from .stream import Stream

T = TypeVar("T")
BUFFER = 128 * 1024


class NoticingReader(asyncio.StreamReader):
    """Tells a writer that the other side has answered or gone away."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=BUFFER, loop=loop)
        self.noticed = asyncio.Event()

    def feed_data(self, data: Any) -> None:
        self.noticed.set()
        super().feed_data(data)

    def feed_eof(self) -> None:
        self.noticed.set()
        super().feed_eof()


class AsyncStream:
    """A connection of the running event loop."""

    def __init__(self, reader: NoticingReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, limit: int, seconds: float) -> bytes:
        return await within(self._reader.read(limit), seconds)

    async def write(self, data: bytes, seconds: float) -> bool:
        if self._reader.noticed.is_set() or self._writer.transport.is_closing():
            return False
        self._writer.write(data)
        drained = asyncio.ensure_future(self._writer.drain())
        noticed = asyncio.ensure_future(self._reader.noticed.wait())
        try:
            done, _ = await asyncio.wait({drained, noticed}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TimeoutError("the service does not read the request")
            if drained not in done:
                return False
            with contextlib.suppress(ConnectionError):
                drained.result()
                return True
            return False
        finally:
            for one in (drained, noticed):
                one.cancel()
            if drained.done() and not drained.cancelled():
                drained.exception()  # seen

    def is_idle(self) -> bool:
        return not self._reader.noticed.is_set() and not self._writer.transport.is_closing()

    def reset(self) -> None:
        self._reader.noticed.clear()

    def close(self) -> None:
        if not self._writer.transport.is_closing():
            self._writer.transport.abort()


class TaskJob:
    """A task. `stop` cancels it and waits for its end."""

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self._task = task

    async def stop(self) -> None:
        self._task.cancel()
        if self._task is not asyncio.current_task():
            await asyncio.wait({self._task})


class AsyncRuntime:
    """Everything happens in the event loop, except work that blocks."""

    def __init__(self, context: Optional[ssl.SSLContext] = None) -> None:
        self._context = context
        # The loop itself keeps only weak references.
        self._unfinished: Set["asyncio.Future[Any]"] = set()
        self._jobs: Set["asyncio.Task[None]"] = set()

    async def connect(self, address: Address, seconds: float) -> Stream:
        return await within(self._connect(address), seconds)

    async def _connect(self, address: Address) -> Stream:
        loop = asyncio.get_running_loop()
        context: Optional[ssl.SSLContext] = None
        if address.scheme == "https":
            context = self._context or await self.in_thread(ssl.create_default_context)
        reader = NoticingReader(loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        name = address.host if context else None
        proxy = proxy_for(address)
        if proxy:
            sock = await tunnel(loop, proxy)
            try:
                transport, _ = await loop.create_connection(lambda: protocol, sock=sock, ssl=context, server_hostname=name)
            except BaseException:
                sock.close()
                raise
        else:
            transport, _ = await loop.create_connection(
                lambda: protocol, address.host, address.port, ssl=context, server_hostname=name
            )
        return AsyncStream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def finish(self, work: Coroutine[Any, Any, T], afterwards: Callable[[T], Awaitable[object]]) -> T:
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            rest = asyncio.ensure_future(self._rest(task, afterwards))
            self._unfinished.add(rest)
            rest.add_done_callback(self._unfinished.discard)
            raise

    async def _rest(self, task: "asyncio.Future[T]", afterwards: Callable[[T], Awaitable[object]]) -> None:
        with contextlib.suppress(Exception):
            await afterwards(await task)

    async def settle(self) -> None:
        """Waits for what cancelled callers have left to be finished."""
        if self._unfinished:
            await asyncio.wait(set(self._unfinished))

    async def end_jobs(self) -> None:
        jobs = self._jobs - {asyncio.current_task()}
        for task in jobs:
            task.cancel()
        if jobs:
            await asyncio.wait(jobs)

    async def in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work)

    def slots(self, count: int) -> asyncio.Semaphore:
        return asyncio.Semaphore(count)

    async def call(self, function: Callable[..., Any], call: Callable[[], Any]) -> Any:
        if inspect.iscoroutinefunction(function):
            return await call()
        result = await self.in_thread(functools.partial(contextvars.copy_context().run, call))
        return await result if inspect.isawaitable(result) else result

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> TaskJob:
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        return TaskJob(task)


async def within(work: Awaitable[T], seconds: float) -> T:
    try:
        return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise TimeoutError("the service did not answer in time") from None


async def tunnel(loop: asyncio.AbstractEventLoop, proxy: "tuple[str, int, bytes]") -> socket.socket:
    """A socket through the proxy, ready for TLS."""
    host, port, request = proxy
    found = (await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))[0]
    sock = socket.socket(found[0], found[1], found[2])
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, found[4])
        await loop.sock_sendall(sock, request)
        answer = b""
        while not answer.endswith(b"\r\n\r\n") and len(answer) < MAX_ANSWER:
            byte = await loop.sock_recv(sock, 1)  # not more: what follows belongs to TLS
            if not byte:
                break
            answer += byte
        check_answer(answer)
        return sock
    except BaseException:
        sock.close()
        raise
