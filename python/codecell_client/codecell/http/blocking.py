"""Blocking sockets and threads."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import select
import socket
import ssl
import threading
import time
from typing import Any, Awaitable, Callable, Coroutine, Optional, TypeVar

from .address import Address
from .proxy import MAX_ANSWER, check_answer, proxy_for
from .stream import Stream, drive

T = TypeVar("T")
STOP_SECONDS = 5.0


class SocketStream:
    """A connected socket, perhaps with TLS."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    async def read(self, limit: int, seconds: float) -> bytes:
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(limit)
        except ssl.SSLEOFError:
            return b""

    async def write(self, data: bytes, seconds: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket):
            # Received bytes may be TLS's own, so an early answer shows only as a failed write.
            self._socket.settimeout(seconds)
            try:
                self._socket.sendall(data)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                return False
            return True
        return self._write_plain(memoryview(data), seconds)

    def _write_plain(self, left: memoryview, seconds: float) -> bool:
        until = time.monotonic() + seconds
        self._socket.settimeout(0)
        while left:
            readable, writable = wait_for(self._socket, until - time.monotonic())
            if readable:
                return False
            if not writable:
                raise TimeoutError("the service does not read the request")
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                return False
        return True

    def is_idle(self) -> bool:
        return not wait_for(self._socket, 0, for_write=False)[0]

    def reset(self) -> None:
        pass

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes a thread that is reading
        self._socket.close()


def wait_for(sock: socket.socket, seconds: float, for_write: bool = True) -> "tuple[bool, bool]":
    """Whether it can be read, and written. With poll where there is one: select cannot take high descriptors."""
    seconds = max(0.0, seconds)
    if not hasattr(select, "poll"):
        read, write, _ = select.select([sock], [sock] if for_write else [], [], seconds)
        return bool(read), bool(write)
    poll = select.poll()
    poll.register(sock, select.POLLIN | (select.POLLOUT if for_write else 0))
    found = poll.poll(seconds * 1000)
    if not found:
        return False, False
    flags = found[0][1]
    return bool(flags & (select.POLLIN | select.POLLHUP | select.POLLERR)), bool(flags & select.POLLOUT)


class ThreadJob:
    """A daemon thread. `stop` waits for it a few seconds; whoever stops it has made it end before."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self._thread = threading.Thread(target=lambda: drive(work()), name=name, daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)


class ThreadSlots:
    """asyncio.Semaphore for threads."""

    def __init__(self, count: int) -> None:
        self._slots = threading.Semaphore(count)

    async def acquire(self) -> bool:
        return self._slots.acquire()

    def release(self) -> None:
        self._slots.release()


async def awaited(result: Awaitable[T]) -> T:
    return await result


class BlockingRuntime:
    """Everything happens in the calling thread, except jobs."""

    def __init__(self, context: Optional[ssl.SSLContext] = None) -> None:
        self._context = context

    async def connect(self, address: Address, seconds: float) -> Stream:
        proxy = proxy_for(address)
        sock = socket.create_connection(proxy[:2] if proxy else (address.host, address.port), seconds)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if proxy:
                sock.sendall(proxy[2])
                answer = b""
                while not answer.endswith(b"\r\n\r\n") and len(answer) < MAX_ANSWER:
                    byte = sock.recv(1)  # not more: what follows belongs to TLS
                    if not byte:
                        break
                    answer += byte
                check_answer(answer)
            if address.scheme == "https":
                context = self._context or ssl.create_default_context()
                sock = context.wrap_socket(sock, server_hostname=address.host)
        except BaseException:
            sock.close()
            raise
        return SocketStream(sock)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def finish(self, work: Coroutine[Any, Any, T], afterwards: Callable[[T], Awaitable[object]]) -> T:
        return await work

    async def settle(self) -> None:
        pass

    async def end_jobs(self) -> None:
        pass

    async def in_thread(self, work: Callable[[], T]) -> T:
        return work()

    def slots(self, count: int) -> "ThreadSlots":
        return ThreadSlots(count)

    async def call(self, function: Callable[..., Any], call: Callable[[], Any]) -> Any:
        result = call()
        return asyncio.run(awaited(result)) if inspect.isawaitable(result) else result

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> ThreadJob:
        return ThreadJob(work, name)
