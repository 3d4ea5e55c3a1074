"""asyncio.run() on Pyodide, whose own loop cannot block: uses a second, blocking loop during the call."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import asyncio
import time
from asyncio import tasks

IDLE_SECONDS = 3600


class BlockingLoop(asyncio.BaseEventLoop):
    """Supports timers, tasks and queues. There are no descriptors to wait for."""

    def __init__(self):
        asyncio.BaseEventLoop.__init__(self)
        self._selector = self

    def select(self, timeout):
        time.sleep(IDLE_SECONDS if timeout is None else timeout)
        return ()

    def _process_events(self, _events):
        pass

    def _write_to_self(self):
        pass


def run(main, *, debug=None, loop_factory=None):
    """Suspends Pyodide's loop: asyncio allows one running loop and one current task per thread."""
    outer = asyncio._get_running_loop()
    task = tasks._swap_current_task(outer, None) if outer is not None else None
    asyncio._set_running_loop(None)
    try:
        with asyncio.Runner(debug=debug, loop_factory=loop_factory or BlockingLoop) as runner:
            return runner.run(main)
    finally:
        asyncio._set_running_loop(outer)
        if outer is not None:
            asyncio.set_event_loop(outer)
            tasks._swap_current_task(outer, task)


def install():
    asyncio.run = asyncio.runners.run = run
