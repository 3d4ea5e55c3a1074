"""The asyncio API: the names of `codecell`, with `await`.

It uses asyncio's own transports, not a pool of threads. A cancelled task closes its connection at once and cancels its run, and
any number of runs can wait at the same time: a pool that is full of waiting runs could not answer the calls they wait for.

    async with codecell.aio.connect() as box:
        session = await box.session("a")
        print((await session.run("1 + 1")).value)
"""
from __future__ import annotations

import asyncio
import ssl
from typing import Any, Generator, Optional, Sequence

from .core.client import AsyncAudit, AsyncCodecell
from .core.run import AsyncRun
from .core.session import AsyncExposure, AsyncFile, AsyncSession, AsyncStarting
from .http.address import parse_address
from .http.asynchronous import AsyncRuntime
from .http.transport import Transport
from .local.server import Command, LocalServer, Policy, settings

__all__ = [
    "AsyncAudit",
    "AsyncCodecell",
    "AsyncExposure",
    "AsyncFile",
    "AsyncRun",
    "AsyncSession",
    "AsyncStarting",
    "connect",
]


class _LocalCodecell(AsyncCodecell):
    def __init__(self, transport: Transport, server: LocalServer) -> None:
        super().__init__(transport)
        self._server = server

    async def close(self) -> None:
        await super().close()
        await asyncio.get_running_loop().run_in_executor(None, self._server.stop)


class Connecting:
    """What `connect` returns: await it, or use it with `async with`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._box: Optional[AsyncCodecell] = None

    def __await__(self) -> Generator[Any, None, AsyncCodecell]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncCodecell:
        self._box = await self._open()
        return self._box

    async def __aexit__(self, *_: object) -> None:
        if self._box is not None:
            await self._box.close()

    async def _open(self) -> AsyncCodecell:
        given = self._options
        runtime = AsyncRuntime(given["ssl_context"])
        url, token = settings(given["url"], given["token"])
        if url is not None:
            return AsyncCodecell(Transport(parse_address(url, given["allow_insecure"]), token, runtime, given["timeout"]))
        loop = asyncio.get_running_loop()
        start = loop.run_in_executor(None, LocalServer, given["command"], given["policy"], given["serve_arguments"])
        try:
            server = await asyncio.shield(start)
        except asyncio.CancelledError:
            start.add_done_callback(_stop_started)  # it must not stay behind
            raise
        return _LocalCodecell(Transport(parse_address(server.url), server.token, runtime, given["timeout"]), server)


def _stop_started(start: "asyncio.Future[LocalServer]") -> None:
    if not start.cancelled() and start.exception() is None:
        start.result().stop()


def connect(
    url: Optional[str] = None,
    token: Optional[str] = None,
    *,
    command: Command = None,
    policy: Policy = None,
    serve_arguments: Sequence[str] = (),
    timeout: float = 60.0,
    allow_insecure: bool = False,
    ssl_context: Optional[ssl.SSLContext] = None,
) -> Connecting:
    """Connects to the service at `url`, or starts one. The arguments are those of `codecell.connect`."""
    return Connecting(
        url=url,
        token=token,
        command=command,
        policy=policy,
        serve_arguments=serve_arguments,
        timeout=timeout,
        allow_insecure=allow_insecure,
        ssl_context=ssl_context,
    )
