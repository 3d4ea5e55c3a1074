"""Answers the calls of programs with the tools of this process."""
from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from typing import Any, Callable, Dict, Optional

from .service import Service, ServiceError, abort
from .tool_schema import call_tool
from .values import tool_result

POLL_SECONDS = 20
MAX_MESSAGE = 4000
MAX_TYPE = 100


class ToolCalls:
    """Fetches calls in a thread of its own while a program runs, and runs up to `concurrency` tools at once."""

    def __init__(self, service: Service, path: str, tools: Dict[str, Callable[..., Any]], concurrency: int) -> None:
        self._service = service
        self._path = path
        self._tools = tools
        self._slots = threading.BoundedSemaphore(concurrency)
        self._connection = service.connection()
        self._changed = threading.Condition()
        self._is_active = False
        self._is_closed = False
        self._thread: Optional[threading.Thread] = None
        self._context = contextvars.copy_context()
        self._on_failure: Callable[[], None] = lambda: None
        self.failure: Optional[Exception] = None
        self.submitted: Optional[Dict[str, Any]] = None
        self._in_tool = threading.local()

    def begin(self, on_failure: Callable[[], None]) -> None:
        """A program starts. Its tools see the context variables of this caller, as in DSPy."""
        with self._changed:
            self._context = contextvars.copy_context()
            self._on_failure = on_failure
            self.submitted = None
            self._is_active = True
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._fetch, name="codecell tool calls", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """The program has ended. A fetch that is under way is kept for the next one: aborted, it could take a call along."""
        with self._changed:
            self._is_active = False

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        abort(self._connection)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)
        self._connection.close()

    @property
    def is_in_tool(self) -> bool:
        """Whether the current thread is running a tool."""
        return getattr(self._in_tool, "value", False)

    def _fetch(self) -> None:
        path = "%s/calls?wait=%d" % (self._path, POLL_SECONDS)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_active or self._is_closed)
                if self._is_closed:
                    return
            try:
                calls = self._service.call("GET", path, wait=POLL_SECONDS, connection=self._connection)["calls"]
            except Exception as error:  # noqa: BLE001 - whoever waits for the program has to learn of it
                if not self._is_closed:
                    self.failure = error
                    self._on_failure()
                return
            for call in calls:
                self._start(call)

    def _start(self, call: Dict[str, Any]) -> None:
        if call["name"] == "SUBMIT":
            self.submitted = call["arguments"]
            self._answer(call, {"value": None})
            return
        # A context can be entered once at a time, so each call gets a copy.
        run = self._context.copy().run
        threading.Thread(target=run, args=(self._work, call), name="codecell tool", daemon=True).start()

    def _work(self, call: Dict[str, Any]) -> None:
        with self._slots:
            self._in_tool.value = True
            try:
                answer = {"value": tool_result(self._run_tool(call["name"], call["arguments"]))}
            except BaseException as error:  # noqa: BLE001 - the program sees it
                answer = failed(error)
        self._answer(call, answer)

    def _run_tool(self, name: str, arguments: Dict[str, Any]) -> Any:
        tool = self._tools.get(name)
        if tool is None:
            raise NameError("there is no tool %s" % name)
        result = call_tool(tool, arguments)
        return asyncio.run(awaited(result)) if inspect.isawaitable(result) else result

    def _answer(self, call: Dict[str, Any], answer: Dict[str, Any]) -> None:
        path = "%s/calls/%d" % (self._path, call["call"])
        try:
            try:
                self._service.call("POST", path, answer)
            except ServiceError as error:
                if error.status not in (400, 413):
                    raise
                # The result is too large or too deep: the program has to know instead of waiting for it.
                self._service.call("POST", path, failed(ValueError("the result was refused: %s" % error)))
        except Exception:  # noqa: BLE001
            pass  # the call or its program has ended; if the service has, whoever waits for the program learns of it


async def awaited(result: Any) -> Any:
    return await result


def failed(error: BaseException) -> Dict[str, Any]:
    return {"error": {"type": type(error).__name__[:MAX_TYPE], "message": str(error)[:MAX_MESSAGE]}}
