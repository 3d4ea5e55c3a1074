"""Answers the calls of a session's programs with functions of this process."""
from __future__ import annotations

import dataclasses
import functools
import json
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Union, cast

from ..errors import CodecellError, Unreachable
from ..http.stream import Job
from ..http.transport import Request, Transport
from ..wire.decode import as_list, as_object, decode
from ..wire.session import FunctionCall
from .schema import Function, call_with, declaration

POLL_SECONDS = 20
RETRY_SECONDS = 1.0
MAX_FAILURES = 30
MAX_TYPE = 100
MAX_MESSAGE = 4000
# A program can call from many threads. More calls than this wait in the service, not here.
CONCURRENCY = 16
Callee = Union[Callable[..., Any], Function]


class Functions:
    """The functions of one session. A job fetches the calls for as long as there are functions."""

    def __init__(self, transport: Transport, path: str) -> None:
        self._transport = transport
        self._path = path
        self._table: Dict[str, Function] = {}
        self._job: Optional[Job] = None
        self.is_closed = False
        self._guard = threading.Lock()
        self._slots = transport.runtime.slots(CONCURRENCY)

    async def expose(self, given: Mapping[str, Callee]) -> None:
        functions = {name: one if isinstance(one, Function) else Function(one) for name, one in given.items()}
        for name, function in functions.items():
            if not callable(function.call):
                raise CodecellError("usage", "%s is not a function" % name)
        with self._guard:
            table = {**self._table, **functions}
        await self._declare(table)
        with self._guard:
            self._table = table
            if self._job is None and table and not self.is_closed:
                self._job = self._transport.runtime.start(self._serve, "codecell calls")

    async def remove(self, names: List[str]) -> None:
        with self._guard:
            table = {name: one for name, one in self._table.items() if name not in names}
            is_same = len(table) == len(self._table)
        if not is_same:
            await self._declare(table)
            with self._guard:
                self._table = table

    async def stop(self) -> None:
        """After the transport was closed, which ends the request under way."""
        with self._guard:
            self.is_closed = True
            job, self._job = self._job, None
            self._table = {}
        if job is not None:
            await job.stop()

    def forget(self) -> None:
        """The session is closed, so there are no more calls."""
        with self._guard:
            self.is_closed = True
            self._table = {}

    async def _declare(self, table: Mapping[str, Function]) -> None:
        functions = [declaration(name, one) for name, one in table.items()]
        await self._transport.call(Request("PUT", self._path + "/functions", json={"functions": functions}, retry=True))

    async def _serve(self) -> None:
        failures = 0
        latest = 0
        while self._goes_on():
            # Each call is sent once. After a lost response, those that were in it are asked for again.
            query = {"wait": POLL_SECONDS, "after": latest if failures > 0 else None}
            request = Request("GET", self._path + "/calls", query, wait=POLL_SECONDS)
            try:
                calls = decode_calls(await self._transport.json(request))
                failures = 0
            except CodecellError as error:
                failures += 1
                if self.is_closed or not isinstance(error, Unreachable) or failures > MAX_FAILURES:
                    self._job = None
                    return
                await self._transport.runtime.sleep(RETRY_SECONDS)
                continue
            for call in calls:
                latest = max(latest, call.call)
                await self._slots.acquire()
                self._transport.runtime.start(functools.partial(self._answer, call), "codecell function")

    def _goes_on(self) -> bool:
        with self._guard:
            if self._table and not self.is_closed:
                return True
            self._job = None  # under the lock: whoever adds a function next starts another one
            return False

    async def _answer(self, call: FunctionCall) -> None:
        try:
            function = self._table.get(call.name)
            if function is None:
                answer = failed(NameError("there is no function %s" % call.name))
            else:
                answer = await self._result_of(function, call.arguments)
            await self._send(call, answer)
        finally:
            self._slots.release()

    async def _result_of(self, function: Function, arguments: Mapping[str, Any]) -> Dict[str, Any]:
        try:
            work = functools.partial(call_with, function.call, arguments)
            return {"value": plain(await self._transport.runtime.call(function.call, work))}
        except Exception as error:  # noqa: BLE001 - the program sees it
            return failed(error)

    async def _send(self, call: FunctionCall, answer: Dict[str, Any]) -> None:
        path = "%s/calls/%d" % (self._path, call.call)
        try:
            await self._transport.call(Request("POST", path, json=answer))
        except CodecellError as error:
            if error.status in (400, 413):  # too large or too deep: the program has to know instead of waiting for it
                refused = failed(ValueError("the result was refused: %s" % error.message))
                try:
                    await self._transport.call(Request("POST", path, json=refused))
                except CodecellError:
                    pass  # the call has ended meanwhile


def decode_calls(data: Any) -> List[FunctionCall]:
    return [decode(FunctionCall, one) for one in as_list(as_object(data).get("calls"), "calls")]


def plain(value: Any) -> Any:
    """The value in terms of JSON. Raises TypeError or ValueError if it has no such form.

    >>> plain({"a": (1, {2})})
    {'a': [1, [2]]}
    """
    return json.loads(json.dumps(value, allow_nan=False, default=_converted))


def _converted(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return list(cast("Set[Any]", value))
    raise TypeError("a value of type %s has no JSON form" % type(value).__name__)


def failed(error: BaseException) -> Dict[str, Any]:
    return {"error": {"type": type(error).__name__[:MAX_TYPE], "message": str(error)[:MAX_MESSAGE]}}
