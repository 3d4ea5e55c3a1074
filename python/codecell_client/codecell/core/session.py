"""A session of the service: variables, files and programs that belong together."""
from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import threading
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union, cast

from ..errors import CodecellError, Unreachable, bad_response
from ..http.transport import OpenResponse, Request, Transport, file_path, segment
from ..wire.decode import as_list, as_object, decode
from ..wire.event import RunEvent
from ..wire.run import RunResult, RunSummary
from ..wire.session import (
    ArtifactPage,
    Cell,
    Checkpoint,
    File,
    FilePage,
    HistoryEntry,
    Link,
    Preview,
    Receipt,
    Restored,
    SessionInfo,
    SessionPolicy,
    Snapshot,
    Undone,
    Variable,
)
from .functions import Callee, Functions
from .run import WAIT_SECONDS, AsyncRun
from .sources import Source, body_of

# The service counts UTF-16 units, of which a character has one or two. More is streamed.
MAX_STDIN = 1 << 19
MAX_READ = 64 << 20
Target = Union[str, "os.PathLike[str]", IO[bytes]]


class AsyncExposure:
    """Functions that programs may call until it is closed."""

    def __init__(self, functions: Functions, names: List[str]) -> None:
        self._functions = functions
        self._names = names

    async def close(self) -> None:
        names, self._names = self._names, []
        if names:
            await self._functions.remove(names)

    async def __aenter__(self) -> "AsyncExposure":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncStarting:
    """What `stream` returns: iterate it, and await `result()`."""

    def __init__(self, session: "AsyncSession", code: str, options: Dict[str, Any]) -> None:
        self._session = session
        self._code = code
        self._options = options
        self._run: Optional[AsyncRun] = None

    async def run(self) -> AsyncRun:
        """The run, which starts with the first use."""
        if self._run is None:
            self._run = await self._session.start(self._code, **self._options)
        return self._run

    async def result(self, timeout: Optional[float] = None, check: bool = False) -> RunResult:
        return await (await self.run()).result(timeout, check)

    def __aiter__(self) -> "AsyncStarting":
        return self

    async def __anext__(self) -> RunEvent:
        return await (await self.run()).__anext__()

    async def __aenter__(self) -> "AsyncStarting":
        await self.run()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._run is not None:
            await self._run.end()


class AsyncFile:
    """A file that is being downloaded, piece by piece."""

    def __init__(self, response: OpenResponse) -> None:
        self._response = response

    @property
    def size(self) -> Optional[int]:
        length = self._response.headers.get("content-length", "")
        return int(length) if length.isdigit() else None

    async def read(self) -> bytes:
        """The next piece; none at the end."""
        return await self._response.read()

    async def close(self) -> None:
        self._response.close()

    def __aiter__(self) -> "AsyncFile":
        return self

    async def __anext__(self) -> bytes:
        piece = await self.read()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def __aenter__(self) -> "AsyncFile":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncSession:
    """A session. As a context manager it is closed at the end of the block."""

    def __init__(self, transport: Transport, session_id: str, capabilities: "Capabilities") -> None:
        self._transport = transport
        self._path = "/v1/sessions/%s" % segment(session_id)
        self._capabilities = capabilities
        self.functions = Functions(transport, self._path)
        # Finds the one object of a session. A client sets its own.
        self.family: Callable[[str], AsyncSession] = lambda other: AsyncSession(transport, other, capabilities)
        self.id = session_id

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.id)

    # Runs

    async def start(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        timeout: Optional[float] = None,
        args: Optional[Sequence[str]] = None,
        file: Optional[str] = None,
        stdin: Optional[str] = None,
        stdin_stream: bool = False,
        when_busy: str = "refuse",
    ) -> AsyncRun:
        """Starts a program and returns at once. It continues until it ends or `run.cancel()` is called.

        `timeout` limits the program, in seconds. `when_busy="wait"` waits up to a minute for the session's current run to end.
        """
        wait = WAIT_SECONDS if when_busy == "wait" else 0
        given = {"language": language, "timeout": timeout, "file": file, "stdin": stdin}
        body: Dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        body.update({"code": code, "wait": wait, "when_busy": when_busy})
        if args is not None:
            body["args"] = list(args)
        if stdin_stream:
            body["stdin_stream"] = True
        headers = {"idempotency-key": secrets.token_hex(16)}
        sent = threading.Event()
        request = Request("POST", self._path + "/runs", json=body, wait=wait, headers=headers, on_sent=sent.set)
        try:
            return await self._transport.runtime.finish(self._started(request), AsyncRun.cancel_quietly)
        except KeyboardInterrupt:
            # The service drops a start that waits for its turn when its caller leaves. Any other may have become a run.
            if sent.is_set() and when_busy != "wait":
                await self._cancel_start(request)
            raise

    async def _cancel_start(self, request: Request) -> None:
        """Cancels the run of a start whose reply nobody read: the same key finds it."""
        with contextlib.suppress(CodecellError):
            if await self._capabilities.has_idempotent_starts():
                await (await self._started(request)).cancel_quietly()

    async def _started(self, request: Request) -> AsyncRun:
        try:
            reply = await self._transport.call(request)
        except Unreachable as error:
            # The code may be running. A second request with the same key gets that run, if the service knows such keys.
            if not error.is_sent or not await self._capabilities.has_idempotent_starts():
                raise
            reply = await self._transport.call(dataclasses.replace(request, retry=True))
        result = decode(RunResult, reply.json)
        run = AsyncRun(self._transport, self.id, result.run_id)
        run.remember(result)
        return run

    async def run(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        timeout: Optional[float] = None,
        args: Optional[Sequence[str]] = None,
        file: Optional[str] = None,
        stdin: Optional[Source] = None,
        when_busy: str = "refuse",
        check: bool = False,
    ) -> RunResult:
        """Runs a program and waits for its result. If the caller is interrupted or cancelled meanwhile, so is the program.

        A program that fails is a result too; with `check` it raises ProgramError.
        """
        text = stdin if isinstance(stdin, str) and len(stdin) <= MAX_STDIN else None
        streamed = stdin if text is None else None
        run = await self.start(
            code,
            language=language,
            timeout=timeout,
            args=args,
            file=file,
            stdin=text,
            stdin_stream=streamed is not None,
            when_busy=when_busy,
        )

        async def finish() -> RunResult:
            if streamed is not None:
                await run.send_stdin(streamed)
            return await run.result(check=check)

        return await run.until_end(finish)

    def stream(
        self,
        code: str,
        *,
        language: Optional[str] = None,
        timeout: Optional[float] = None,
        args: Optional[Sequence[str]] = None,
        file: Optional[str] = None,
        stdin: Optional[str] = None,
        when_busy: str = "refuse",
    ) -> AsyncStarting:
        """Starts a program; iterate it for its events."""
        options = {"language": language, "timeout": timeout, "args": args, "file": file, "stdin": stdin}
        return AsyncStarting(self, code, {**options, "when_busy": when_busy})

    def attach(self, run_id: str, offset: int = 0) -> AsyncRun:
        """A run that was started before, perhaps by another process. Its events start at `offset`."""
        return AsyncRun(self._transport, self.id, run_id, offset)

    async def runs(self) -> List[RunSummary]:
        """Runs that are running, and those that ended in the last 15 minutes."""
        return [decode(RunSummary, one) for one in listed(await self._get("/runs"), "runs")]

    async def receipt(self, run_id: str) -> Receipt:
        """What was enforced during a run, rule by rule."""
        return await self.attach(run_id).receipt()

    # Variables

    async def variables(self) -> List[Variable]:
        """Names, types and summaries; at most 1000."""
        return [decode(Variable, one) for one in listed(await self._get("/variables"), "variables")]

    async def get(self, expression: str) -> Any:
        """The value of a variable or an expression, through JSON. It comes from the cell: do not trust it.

        An expression that is no name is code, so it needs the scope `run`.
        """
        if expression.isidentifier():
            data = await self._get("/variables/%s" % segment(expression))
        else:
            data = await self._post("/values", {"expression": expression})
        if "value" not in as_object(data):
            raise bad_response("it has no value")
        return as_object(data)["value"]

    async def preview(self, expression: str, max_bytes: Optional[int] = None) -> Preview:
        """The beginning of a value as text, whatever its size and type."""
        body: Dict[str, Any] = {"expression": expression, "as": "preview"}
        if max_bytes is not None:
            body["max_bytes"] = max_bytes
        return decode(Preview, await self._post("/values", body))

    async def get_bytes(self, name: str) -> bytes:
        """The content of a variable that holds bytes or text, at most 16 MiB."""
        path = "%s/variables/%s/bytes" % (self._path, segment(name))
        return (await self._transport.call(Request("GET", path, retry=True))).data

    async def set(self, name: str, value: Any) -> None:
        """Sets a variable: bytes as they are, anything else through JSON. At most 16 MiB."""
        path = "%s/variables/%s" % (self._path, segment(name))
        if isinstance(value, (bytes, bytearray, memoryview)):
            await self._transport.call(Request("PUT", path + "/bytes", body=bytes(cast("bytes", value)), retry=True))
        else:
            await self._transport.call(Request("PUT", path, json={"value": value}, retry=True))

    # Files

    async def upload(self, path: str, source: Source) -> int:
        """Writes a file of the workspace and returns its size. `source` is bytes, text, a Path, a binary file or pieces of bytes.

        The file is written completely or not at all.
        """
        body, length, close = body_of(source, self._transport.runtime)
        try:
            request = Request("PUT", self._file(path), body=body, length=length, retry=True)
            data = await self._transport.json(request)
        finally:
            close()
        size = as_object(data).get("size")
        if not isinstance(size, int):
            raise bad_response("it has no size")
        return size

    async def open(self, path: str, start: Optional[int] = None, end: Optional[int] = None) -> AsyncFile:
        """Opens a file, or its bytes from `start` up to `end`, to read it piece by piece."""
        headers = {"accept": "application/octet-stream"}
        if start is not None or end is not None:
            first = start or 0
            if first < 0 or (end is not None and end <= first):
                raise CodecellError("usage", "the range of bytes is empty", hint="use start < end")
            headers["range"] = "bytes=%d-%s" % (first, "" if end is None else str(end - 1))
        return AsyncFile(await self._transport.open(Request("GET", self._file(path), headers=headers, retry=True)))

    async def read(self, path: str, max_bytes: int = MAX_READ) -> bytes:
        """The content of a file. `open` and `download` have no limit."""
        async with await self.open(path) as file:
            data = bytearray()
            while True:
                piece = await file.read()
                if not piece:
                    return bytes(data)
                data += piece
                if len(data) > max_bytes:
                    hint = "download it, or raise max_bytes"
                    raise CodecellError("too_large", "%s is larger than %d bytes" % (path, max_bytes), hint=hint)

    async def download(self, path: str, to: Target) -> int:
        """Writes a file of the workspace to a local path or an open binary file, and returns its size.

        A local path gets the whole file or is left as it was.
        """
        async with await self.open(path) as file:
            return await save(file, to, self._transport)

    async def list_files(self, prefix: Optional[str] = None) -> List[File]:
        """The files of the workspace, ordered by name."""
        files: List[File] = []
        after: Optional[str] = None
        while True:
            page = await self.list_page(prefix, after)
            files.extend(page.files)
            if page.next is None or page.next == after:
                return files
            after = page.next

    async def list_page(self, prefix: Optional[str] = None, after: Optional[str] = None, limit: int = 1000) -> FilePage:
        """One page of files."""
        return decode(FilePage, await self._get("/files", {"prefix": prefix, "after": after, "limit": limit}))

    async def remove_file(self, path: str) -> None:
        """Removes a file."""
        await self._transport.call(Request("DELETE", self._file(path)))

    async def artifacts(self, prefix: Optional[str] = None, after: Optional[str] = None) -> ArtifactPage:
        """One page of files with type, sha256 and a link that expires."""
        return decode(ArtifactPage, await self._get("/artifacts", {"prefix": prefix, "after": after}))

    async def link(self, path: str, expires_in: Optional[int] = None, inline: bool = False) -> Link:
        """A link to the current content of a file. Everybody who has it can download that, for `expires_in` seconds."""
        body: Dict[str, Any] = {"path": path, "disposition": "inline" if inline else "attachment"}
        if expires_in is not None:
            body["expires_in"] = expires_in
        return decode(Link, await self._post("/links", body))

    # Checkpoints and copies

    async def checkpoint(self, name: str) -> Checkpoint:
        """Freezes the variables under a name."""
        return decode(Checkpoint, await self._post("/checkpoints", {"name": name}))

    async def checkpoints(self) -> List[Checkpoint]:
        return [decode(Checkpoint, one) for one in listed(await self._get("/checkpoints"), "checkpoints")]

    async def rollback(self, name: str) -> Checkpoint:
        """Restores the variables of a checkpoint. Files are not changed."""
        return decode(Checkpoint, await self._post("/checkpoints/%s/rollback" % segment(name)))

    async def undo(self) -> Undone:
        """Restores the variables from before the last run, as often as `session.undo` of the policy allows."""
        return decode(Undone, await self._post("/undo"))

    async def forget_checkpoint(self, name: str) -> None:
        await self._transport.call(Request("DELETE", "%s/checkpoints/%s" % (self._path, segment(name))))

    async def fork(self, session_id: Optional[str] = None) -> "AsyncSession":
        """A second session with this one's variables. Both share the files."""
        body = {} if session_id is None else {"session_id": session_id}
        return self.family(decode(SessionInfo, await self._post("/fork", body)).session_id)

    # The session itself

    async def info(self) -> SessionInfo:
        """Its state. Starts no cell."""
        return decode(SessionInfo, await self._get(""))

    async def cell(self) -> Cell:
        """Its cell: Python's version, languages, what it uses, what is enforced. Starts the cell if there is none."""
        return decode(Cell, await self._get("/cell"))

    async def policy(self) -> SessionPolicy:
        """The rules that can change while it lives, and the hash of its whole policy."""
        return decode(SessionPolicy, await self._get("/policy"))

    async def update_policy(self, change: Mapping[str, Any]) -> SessionPolicy:
        """Changes network rules, within the service's policy: `{"net": {"deny": ["a.example"]}}`. `None` reverts a rule."""
        return decode(SessionPolicy, await self._transport.json(Request("PATCH", self._path + "/policy", json=dict(change))))

    async def history(self, limit: int = 200) -> List[HistoryEntry]:
        """Code and outcome of earlier runs, newest last."""
        return [decode(HistoryEntry, one) for one in listed(await self._get("/history", {"limit": limit}), "history")]

    async def reset(self) -> None:
        """Clears the variables. Files and checkpoints stay."""
        await self._transport.call(Request("POST", self._path + "/reset"))

    async def save(self) -> Snapshot:
        """Writes the variables to disk now. The policy needs `session.persist`."""
        return decode(Snapshot, await self._post("/save"))

    async def restore(self) -> Restored:
        """Loads a saved session into a cell, and says what came back."""
        return decode(Restored, await self._post("/restore"))

    async def expose(self, **functions: Callee) -> AsyncExposure:
        """Lets programs call functions of this process, from their next run on, until the exposure is closed.

        Their arguments come from the cell: check them.
        """
        await self.functions.expose(functions)
        return AsyncExposure(self.functions, list(functions))

    async def close(self, forget: bool = False) -> None:
        """Ends its cell. A persistent session is saved, unless `forget` removes it for good. Closing twice is safe."""
        self.functions.forget()
        try:
            query = {"forget": "true"} if forget else {}
            await self._transport.call(Request("DELETE", self._path, query))
        except CodecellError as error:
            if error.code not in ("session_unknown", "session_closed"):
                raise

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _file(self, path: str) -> str:
        return "%s/files/%s" % (self._path, file_path(path))

    async def _get(self, path: str, query: Optional[Mapping[str, object]] = None) -> Any:
        return await self._transport.json(Request("GET", self._path + path, query or {}, retry=True))

    async def _post(self, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        return await self._transport.json(Request("POST", self._path + path, json=body))


class Capabilities:
    """What this service can do that an older one cannot."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def has_idempotent_starts(self) -> bool:
        """Whether the OpenAPI document has the header. Asked only when a reply was lost."""
        document = as_object(await self._transport.json(Request("GET", "/v1/openapi.json", retry=True)))
        path = as_object(as_object(document.get("paths")).get("/v1/sessions/{session}/runs"))
        parameters = as_list(as_object(path.get("post")).get("parameters", []), "parameters")
        return any(str(as_object(one).get("name")).lower() == "idempotency-key" for one in parameters)


async def save(file: AsyncFile, to: Target, transport: Transport) -> int:
    """Writes all pieces. A path is replaced at the end, so that a cut connection leaves no half file."""
    if not isinstance(to, (str, os.PathLike)):
        return await copy(file, to, transport)
    target = os.path.abspath(os.fspath(cast("str", to)))
    directory, name = os.path.split(target)
    part = os.path.join(directory, ".%s.%s" % (name[:100], secrets.token_hex(8)))
    output = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb")
    try:
        with output:
            size = await copy(file, output, transport)
        os.replace(part, target)
        return size
    except BaseException:
        os.unlink(part)
        raise


async def copy(file: AsyncFile, output: IO[bytes], transport: Transport) -> int:
    size = 0
    while True:
        piece = await file.read()
        if not piece:
            return size
        await transport.runtime.in_thread(lambda data=piece: output.write(data))  # type: ignore[misc]
        size += len(piece)


def listed(data: Any, name: str) -> List[Any]:
    return as_list(as_object(data).get(name), name)
