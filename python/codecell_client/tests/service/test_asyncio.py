"""The asyncio API against the service."""
from __future__ import annotations

import asyncio
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, List

import codecell
from codecell import aio

from .support import ServiceCase


class AsyncioTest(ServiceCase):
    def in_loop(self, work: Callable[[aio.AsyncCodecell], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            async with aio.connect(self.server.url, self.server.token) as box:
                return await work(box)

        return asyncio.run(main())

    def test_runs_files_variables_and_events_work_as_in_the_blocking_api(self) -> None:
        async def work(box: aio.AsyncCodecell) -> None:
            session = await box.session()
            self.assertEqual((await session.run("1 + 1")).value, "2")
            stream = session.stream("for i in range(3): print(i)")
            texts = [one.text async for one in stream if isinstance(one, codecell.Output)]
            self.assertEqual("".join(texts), "0\n1\n2\n")
            self.assertTrue((await stream.result()).ok)

            async def numbers() -> AsyncIterator[bytes]:
                for one in range(10):
                    yield b"%d\n" % one

            self.assertEqual((await session.run("import sys; sum(map(int, sys.stdin))", stdin=numbers())).value, "45")
            self.assertEqual(await session.upload("a.txt", numbers()), 20)
            self.assertEqual(await session.download("a.txt", self.directory / "a.txt"), 20)
            self.assertEqual((self.directory / "a.txt").read_bytes(), await session.read("a.txt"))
            await session.set("x", {"a": [1]})
            self.assertEqual(await session.get("x"), {"a": [1]})
            with self.assertRaises(codecell.ProgramError):
                await session.run("1 / 0", check=True)
            await session.close(forget=True)

        self.in_loop(work)

    def test_a_cancelled_task_cancels_its_run(self) -> None:
        async def work(box: aio.AsyncCodecell) -> str:
            session = await box.session()
            run = await session.start("print('up', flush=True)\nimport time; time.sleep(60)")
            async for _ in run:
                break
            await run.cancel()
            started = asyncio.Event()
            await session.expose(started=lambda: loop.call_soon_threadsafe(started.set) and None)
            task = asyncio.ensure_future(session.run("started(); time.sleep(60)"))
            await started.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            last = (await session.runs())[-1]
            result = await session.attach(last.run_id).result()
            await session.close(forget=True)
            return result.status

        async def main() -> str:
            nonlocal loop
            loop = asyncio.get_running_loop()
            async with aio.connect(self.server.url, self.server.token) as box:
                return await work(box)

        loop: asyncio.AbstractEventLoop
        self.assertEqual(asyncio.run(main()), "cancelled")

    def test_a_task_that_is_cancelled_while_its_run_starts_leaves_no_run_behind(self) -> None:
        async def work(box: aio.AsyncCodecell) -> List[str]:
            session = await box.session()
            task = asyncio.ensure_future(session.run("import time; time.sleep(60)"))
            await asyncio.sleep(0)  # the request is being sent
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await box._transport.runtime.settle()
            ended = [await session.attach(one.run_id).result() for one in await session.runs()]
            await session.close(forget=True)
            return [one.status for one in ended]

        self.assertIn(self.in_loop(work), ([], ["cancelled"]))

    def test_fifty_runs_wait_at_once_and_call_coroutines_without_a_thread_each(self) -> None:
        async def work(box: aio.AsyncCodecell) -> int:
            session = await box.session()
            waiting = asyncio.Event()
            arrived: List[int] = []

            async def meet(number: int) -> int:
                arrived.append(number)
                if len(arrived) == 4:
                    waiting.set()
                await waiting.wait()
                return number

            code = "from concurrent.futures import ThreadPoolExecutor as P\nsum(P(4).map(lambda n: meet(n), range(4)))"
            async with await session.expose(meet=meet):
                run = await session.start(code)
                waits = [asyncio.ensure_future(run.__class__.result(session.attach(run.run_id))) for _ in range(50)]
                values = {one.value for one in await asyncio.gather(*waits)}
                self.assertEqual(values, {"6"})
                threads = threading.active_count()
            await session.close(forget=True)
            return threads

        before = threading.active_count()
        self.assertLess(self.in_loop(work), before + 10)
