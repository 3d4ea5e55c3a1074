"""DSPy's CodeInterpreter protocol over a codecell session."""
from __future__ import annotations

import atexit
import os
import threading
import weakref
from concurrent.futures import Future
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .local_server import LocalServer, Policy, acquire, release
from .outcome import outcome
from .protocol import CodeInterpreterError
from .service import Service, ServiceError, segment
from .tool_calls import ToolCalls
from .tool_schema import declaration, submit_declaration
from .variables import checked, set_variables

WAIT_SECONDS = 60
START_SECONDS = 60
TOOL_SECONDS = 600.0
# Counts the executions in the cell. Another number there means that the session continued in another interpreter.
MARKER = "_codecell_execution"
INSTRUCTIONS = (
    "Python runs as CPython in a codecell sandbox. State persists across executions. The standard library is available. "
    "Files, the network, time and memory are limited by a policy, so anything outside the sandbox may be refused. "
    "Tools may be called from several threads at once."
)


class CodecellInterpreter:
    """Runs code in a session of its own: of the service at `url`, or of a `codecell serve` that it starts.

    `timeout` limits one execution, in seconds; the policy's `proc.timeout` applies in any case. `tool_timeout` limits one call
    of a tool. `concurrency` is the number of tools that run at once.
    """

    execution_instructions = INSTRUCTIONS

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        command: Sequence[str] = ("codecell",),
        policy: Policy = None,
        serve_arguments: Sequence[str] = (),
        tools: Optional[Mapping[str, Callable[..., Any]]] = None,
        output_fields: Optional[List[Dict[str, Any]]] = None,
        timeout: Optional[float] = None,
        tool_timeout: float = TOOL_SECONDS,
        concurrency: int = 16,
    ) -> None:
        if url is not None and (policy is not None or serve_arguments):
            raise ValueError("a service at a URL has its own policy: leave out `policy` and `serve_arguments`")
        if url is not None and not token:
            raise ValueError("the service at %s needs a token: pass `token`" % url)
        self.tools: Dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields = output_fields
        self._remote = None if url is None else Service(url, token or "")
        self._local = (tuple(command), policy, tuple(serve_arguments))
        self._timeout = timeout
        self._tool_timeout = tool_timeout
        self._concurrency = concurrency
        self._server: Optional[LocalServer] = None
        self._service: Optional[Service] = None
        self._path = ""
        self._calls: Optional[ToolCalls] = None
        self._declared: Optional[List[Dict[str, Any]]] = None
        self._executions = 0
        self._ended: Optional[str] = None
        self._turn = threading.Lock()

    def start(self) -> None:
        """Opens the session. Calling it again is safe; after the end of the session it raises."""
        self._check_alive()
        if self._calls is not None:
            if self._server is not None and not self._server.is_running:
                self._fail("the codecell service has ended: %s" % self._server.messages())
            return
        if self._remote is None:
            self._server = acquire(*self._local)
        self._service = self._remote or self._server.service  # type: ignore[union-attr]
        _open.add(self)
        try:
            session = self._service.call("POST", "/v1/sessions", {})
            self._path = "/v1/sessions/%s" % segment(session["session_id"])
            self._mark()
        except ServiceError as error:
            self._fail("the session could not be opened: %s" % error, error)
        self._calls = ToolCalls(self._service, self._path, self.tools, self._concurrency)

    def execute(self, code: str, variables: Optional[Mapping[str, Any]] = None) -> Any:
        """Runs code. Returns FinalOutput, what it printed, the value of its last expression, or None."""
        if self._calls is not None and self._calls.is_in_tool:
            raise CodeInterpreterError("a tool cannot execute code in the interpreter that called it")
        if not self._turn.acquire(blocking=False):
            raise CodeInterpreterError("the interpreter is executing code: use one interpreter per thread")
        try:
            given = checked(variables or {})
            self.start()
            return self._execute(code, given)
        finally:
            self._turn.release()

    def shutdown(self) -> None:
        """Closes the session. Calling it again is safe."""
        self._ended = self._ended or "it was shut down"
        _open.discard(self)
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
        path, self._path = self._path, ""
        if path and self._service is not None and (self._server is None or self._server.is_running):
            try:
                self._service.call("DELETE", path + "?forget=true")
            except ServiceError:
                pass  # it is gone, which is what we want
        server, self._server = self._server, None
        if server is not None:
            release(server)
        elif self._service is not None:
            self._service.close()

    def __call__(self, code: str, variables: Optional[Mapping[str, Any]] = None) -> Any:
        return self.execute(code, variables)

    def __enter__(self) -> "CodecellInterpreter":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _execute(self, code: str, variables: Dict[str, Any]) -> Any:
        try:
            self._check_state()
            self._declare()
            set_variables(self._need(), self._path, variables)
            run = self._run(code)
            if run["state"] == "recovered" and self._executions > 1:
                self._check_state()  # the copy may be older than the last execution
            if run["state"] != "lost":
                self._mark()
        except ServiceError as error:
            if error.status in (400, 409, 413, 422):  # a tool, a variable or the code; the session is as it was
                raise CodeInterpreterError(str(error)) from error
            self._fail(str(error), error)
        calls = self._calls
        if calls is not None and calls.failure is not None:
            self._fail("the calls of the program could not be fetched: %s" % calls.failure, calls.failure)
        if run["state"] == "lost":
            self._ended = "its variables are lost"
        return outcome(run, calls.submitted if calls is not None else None)

    def _run(self, code: str) -> Dict[str, Any]:
        service, calls = self._need(), self._calls
        assert calls is not None
        body: Dict[str, Any] = {"code": code, "wait": 0}
        if self._timeout is not None:
            body["timeout"] = self._timeout
        started: "Future[Dict[str, Any]]" = Future()

        def start() -> None:
            try:
                started.set_result(service.call("POST", self._path + "/runs", body))
            except BaseException as error:  # noqa: BLE001 - for whoever waits for it
                started.set_exception(error)

        def path() -> str:
            return "%s/runs/%s" % (self._path, segment(started.result(START_SECONDS)["run_id"]))

        def cancel() -> None:
            try:
                service.call("POST", path() + "/cancel?wait=20", wait=20)
            except Exception:  # noqa: BLE001
                pass  # it did not start, or has ended; whoever waits for the run learns of it

        calls.begin(cancel)
        try:
            # In a thread: an interrupt of this one must not lose the id of a run that has started.
            threading.Thread(target=start, name="codecell start", daemon=True).start()
            run = started.result()
            while run["status"] == "running":
                if calls.failure is not None:
                    cancel()
                run = service.call("GET", "%s?wait=%d" % (path(), WAIT_SECONDS), wait=WAIT_SECONDS)
            return run
        except BaseException:  # KeyboardInterrupt too: the program must not keep running
            cancel()
            raise
        finally:
            calls.end()

    def _declare(self) -> None:
        """Declares the tools if they are not what they were. DSPy changes `tools` and `output_fields` between executions."""
        if "SUBMIT" in self.tools:
            raise CodeInterpreterError("a tool cannot be named SUBMIT: it submits the outputs")
        fields = self.output_fields or [{"name": "output"}]
        wanted = [declaration(name, tool, self._tool_timeout) for name, tool in self.tools.items()]
        wanted.append(submit_declaration(fields))
        if wanted != self._declared:
            self._need().call("PUT", self._path + "/functions", {"functions": wanted})
            self._declared = wanted

    def _check_state(self) -> None:
        """Stops a session that goes on in a new interpreter. It would answer as if nothing had happened."""
        try:
            found = self._need().call("GET", "%s/variables/%s" % (self._path, MARKER))["value"]
        except ServiceError as error:
            if error.code != "variable_missing":
                raise
            found = None
        if found != self._executions:
            self._fail("the interpreter died, and variables are lost")

    def _mark(self) -> None:
        self._executions += 1
        self._need().call("PUT", "%s/variables/%s" % (self._path, MARKER), {"value": self._executions})

    def _need(self) -> Service:
        assert self._service is not None
        return self._service

    def _check_alive(self) -> None:
        if self._ended is not None:
            raise CodeInterpreterError("the interpreter has ended: %s. Create a new one." % self._ended)

    def _fail(self, reason: str, cause: Optional[BaseException] = None) -> None:
        """The session cannot go on, and never silently starts again."""
        self._ended = reason
        raise CodeInterpreterError("%s. Create a new interpreter." % reason) from cause


_open: "weakref.WeakSet[CodecellInterpreter]" = weakref.WeakSet()
_owner = os.getpid()


@atexit.register
def _close_all() -> None:
    if os.getpid() == _owner:
        for interpreter in list(_open):
            interpreter.shutdown()
