"""The blocking API. Each call runs the coroutine of `codecell.core` in the calling thread, where it never suspends."""
from __future__ import annotations

import ssl
from typing import Any, Callable, Coroutine, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, cast

from .core.client import AsyncAudit, AsyncCodecell
from .core.functions import Callee
from .core.run import CANCEL_SECONDS, AsyncRun
from .core.session import MAX_READ, AsyncExposure, AsyncFile, AsyncSession, Target
from .core.sources import Source
from .http.address import parse_address
from .http.blocking import BlockingRuntime
from .http.stream import drive
from .http.transport import Transport
from .local.server import Command, LocalServer, Policy, settings
from .wire.event import RunEvent
from .wire.run import RunResult, RunSummary
from .wire.session import (
    ArtifactPage,
    AuditPage,
    AuditReport,
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
    StdinSent,
    Undone,
    Variable,
)

T = TypeVar("T")


def _do(work: Coroutine[Any, Any, T]) -> T:
    return cast(T, drive(work))


class Run:
    """A run. `run.result()` waits for its end; `for event in run` shows what happens until then.

    The run continues if nobody waits for it. `session.attach(run_id, offset)` continues in another process. As a context manager,
    it cancels the run at the end of the block if it is still running.
    """

    def __init__(self, inner: AsyncRun) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return "Run(%r, %r)" % (self.session_id, self.run_id)

    @property
    def session_id(self) -> str:
        return self._inner.session_id

    @property
    def run_id(self) -> str:
        return self._inner.run_id

    @property
    def next_offset(self) -> int:
        """The offset of the first event that was not read yet: for `session.attach`."""
        return self._inner.next_offset

    def status(self) -> RunResult:
        """The result, or the output so far."""
        return _do(self._inner.status())

    def result(self, timeout: Optional[float] = None, check: bool = False) -> RunResult:
        """Waits for the result. After `timeout` seconds it raises StillRunning, and the run continues.

        With `check`, a program that fails raises ProgramError.
        """
        return _do(self._inner.result(timeout, check))

    def cancel(self, wait: float = CANCEL_SECONDS) -> RunResult:
        """Stops the run: it is interrupted, which keeps the variables, and killed if it ignores that. Waits for its end."""
        return _do(self._inner.cancel(wait))

    def interrupt(self, wait: float = 0) -> RunResult:
        """Interrupts the run once, as Ctrl-C does. The program can catch it; a second call kills one that ignores the first."""
        return _do(self._inner.interrupt(wait))

    def send_stdin(self, source: Source) -> StdinSent:
        """Sends the whole standard input of a run that was started with `stdin_stream=True`."""
        return _do(self._inner.send_stdin(source))

    def receipt(self) -> Receipt:
        """What was enforced during the run, rule by rule. The run has to be over."""
        return _do(self._inner.receipt())

    def leave(self) -> None:
        """Stops reading events. The run continues."""
        _do(self._inner.leave())

    def __iter__(self) -> Iterator[RunEvent]:
        return self

    def __next__(self) -> RunEvent:
        event = _do(self._inner.next_event())
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        _do(self._inner.end())


class Exposure:
    """Functions that programs may call until it is closed."""

    def __init__(self, inner: AsyncExposure) -> None:
        self._inner = inner

    def close(self) -> None:
        _do(self._inner.close())

    def __enter__(self) -> "Exposure":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteFile:
    """A file that is being downloaded: iterate it for its pieces, and close it."""

    def __init__(self, inner: AsyncFile) -> None:
        self._inner = inner

    @property
    def size(self) -> Optional[int]:
        return self._inner.size

    def read(self) -> bytes:
        """The next piece; none at the end."""
        return _do(self._inner.read())

    def close(self) -> None:
        _do(self._inner.close())

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = self.read()
        if not piece:
            raise StopIteration
        return piece

    def __enter__(self) -> "RemoteFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AuditFeed:
    """Events of the audit: those that are there, then new ones as they are written."""

    def __init__(self, inner: AsyncAudit) -> None:
        self._inner = inner

    def close(self) -> None:
        _do(self._inner.close())

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return self

    def __next__(self) -> Dict[str, Any]:
        event = _do(self._inner.next())
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> "AuditFeed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """Variables, files and programs that belong together. As a context manager it is closed at the end of the block."""

    def __init__(self, inner: AsyncSession) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return "Session(%r)" % self.id

    @property
    def id(self) -> str:
        return self._inner.id

    # Runs

    def run(
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
        """Runs a program and waits for its result. Ctrl-C cancels the program.

        A program that fails is a result too; with `check` it raises ProgramError. `timeout` limits the program, in seconds.
        """
        return _do(
            self._inner.run(
                code,
                language=language,
                timeout=timeout,
                args=args,
                file=file,
                stdin=stdin,
                when_busy=when_busy,
                check=check,
            )
        )

    def start(
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
    ) -> Run:
        """Starts a program and returns at once. It continues until it ends or `run.cancel()` is called."""
        run = self._inner.start(
            code,
            language=language,
            timeout=timeout,
            args=args,
            file=file,
            stdin=stdin,
            stdin_stream=stdin_stream,
            when_busy=when_busy,
        )
        return Run(_do(run))

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
    ) -> Run:
        """Starts a program; iterate it for its events, and call `result()`."""
        return self.start(
            code, language=language, timeout=timeout, args=args, file=file, stdin=stdin, when_busy=when_busy
        )

    def attach(self, run_id: str, offset: int = 0) -> Run:
        """A run that was started before, perhaps by another process. Its events start at `offset`."""
        return Run(self._inner.attach(run_id, offset))

    def runs(self) -> List[RunSummary]:
        """Runs that are running, and those that ended in the last 15 minutes."""
        return _do(self._inner.runs())

    def receipt(self, run_id: str) -> Receipt:
        """What was enforced during a run, rule by rule."""
        return _do(self._inner.receipt(run_id))

    # Variables

    def variables(self) -> List[Variable]:
        """Names, types and summaries; at most 1000."""
        return _do(self._inner.variables())

    def get(self, expression: str) -> Any:
        """The value of a variable or an expression, through JSON. It comes from the cell: do not trust it.

        An expression that is no name is code, so it needs the scope `run`.
        """
        return _do(self._inner.get(expression))

    def preview(self, expression: str, max_bytes: Optional[int] = None) -> Preview:
        """The beginning of a value as text, whatever its size and type."""
        return _do(self._inner.preview(expression, max_bytes))

    def get_bytes(self, name: str) -> bytes:
        """The content of a variable that holds bytes or text, at most 16 MiB."""
        return _do(self._inner.get_bytes(name))

    def set(self, name: str, value: Any) -> None:
        """Sets a variable: bytes as they are, anything else through JSON. At most 16 MiB."""
        _do(self._inner.set(name, value))

    # Files

    def upload(self, path: str, source: Source) -> int:
        """Writes a file of the workspace and returns its size. `source` is bytes, text, a Path, a binary file or pieces of bytes.

        The file is written completely or not at all.
        """
        return _do(self._inner.upload(path, source))

    def open(self, path: str, start: Optional[int] = None, end: Optional[int] = None) -> RemoteFile:
        """Opens a file, or its bytes from `start` up to `end`, to read it piece by piece."""
        return RemoteFile(_do(self._inner.open(path, start, end)))

    def read(self, path: str, max_bytes: int = MAX_READ) -> bytes:
        """The content of a file. `open` and `download` have no limit."""
        return _do(self._inner.read(path, max_bytes))

    def download(self, path: str, to: Target) -> int:
        """Writes a file of the workspace to a local path or an open binary file, and returns its size.

        A local path gets the whole file or is left as it was.
        """
        return _do(self._inner.download(path, to))

    def list_files(self, prefix: Optional[str] = None) -> List[File]:
        """The files of the workspace, ordered by name."""
        return _do(self._inner.list_files(prefix))

    def list_page(self, prefix: Optional[str] = None, after: Optional[str] = None, limit: int = 1000) -> FilePage:
        """One page of files."""
        return _do(self._inner.list_page(prefix, after, limit))

    def remove_file(self, path: str) -> None:
        """Removes a file."""
        _do(self._inner.remove_file(path))

    def artifacts(self, prefix: Optional[str] = None, after: Optional[str] = None) -> ArtifactPage:
        """One page of files with type, sha256 and a link that expires."""
        return _do(self._inner.artifacts(prefix, after))

    def link(self, path: str, expires_in: Optional[int] = None, inline: bool = False) -> Link:
        """A link to the current content of a file. Everybody who has it can download that, for `expires_in` seconds."""
        return _do(self._inner.link(path, expires_in, inline))

    # Checkpoints and copies

    def checkpoint(self, name: str) -> Checkpoint:
        """Freezes the variables under a name."""
        return _do(self._inner.checkpoint(name))

    def checkpoints(self) -> List[Checkpoint]:
        """Oldest first."""
        return _do(self._inner.checkpoints())

    def rollback(self, name: str) -> Checkpoint:
        """Restores the variables of a checkpoint. Files are not changed."""
        return _do(self._inner.rollback(name))

    def undo(self) -> Undone:
        """Restores the variables from before the last run, as often as `session.undo` of the policy allows."""
        return _do(self._inner.undo())

    def forget_checkpoint(self, name: str) -> None:
        """Removes a checkpoint."""
        _do(self._inner.forget_checkpoint(name))

    def fork(self, session_id: Optional[str] = None) -> "Session":
        """A second session with this one's variables. Both share the files."""
        return Session(_do(self._inner.fork(session_id)))

    # The session itself

    def info(self) -> SessionInfo:
        """Its state. Starts no cell."""
        return _do(self._inner.info())

    def cell(self) -> Cell:
        """Its cell: Python's version, languages, what it uses, what is enforced. Starts the cell if there is none."""
        return _do(self._inner.cell())

    def policy(self) -> SessionPolicy:
        """The rules that can change while it lives, and the hash of its whole policy."""
        return _do(self._inner.policy())

    def update_policy(self, change: Mapping[str, Any]) -> SessionPolicy:
        """Changes network rules, within the service's policy: `{"net": {"deny": ["a.example"]}}`. `None` reverts a rule."""
        return _do(self._inner.update_policy(change))

    def history(self, limit: int = 200) -> List[HistoryEntry]:
        """Code and outcome of earlier runs, newest last."""
        return _do(self._inner.history(limit))

    def reset(self) -> None:
        """Clears the variables. Files and checkpoints stay."""
        _do(self._inner.reset())

    def save(self) -> Snapshot:
        """Writes the variables to disk now. The policy needs `session.persist`."""
        return _do(self._inner.save())

    def restore(self) -> Restored:
        """Loads a saved session into a cell, and says what came back."""
        return _do(self._inner.restore())

    def expose(self, **functions: Callee) -> Exposure:
        """Lets programs call functions of this process, from their next run on, until the exposure is closed.

        Each call runs in a thread of its own. Its arguments come from the cell: check them.
        """
        return Exposure(_do(self._inner.expose(**functions)))

    def close(self, forget: bool = False) -> None:
        """Ends its cell. A persistent session is saved, unless `forget` removes it for good. Closing twice is safe."""
        _do(self._inner.close(forget))

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Codecell:
    """A codecell service with the token of one tenant, used from any thread. `codecell.connect` makes it."""

    def __init__(self, transport: Transport, on_close: Optional[Callable[[], None]] = None) -> None:
        self._inner = AsyncCodecell(transport)
        self._on_close = on_close

    def __repr__(self) -> str:
        return "Codecell(%r)" % self.url

    @property
    def url(self) -> str:
        return self._inner.url

    def session(self, session_id: Optional[str] = None) -> Session:
        """The session with this id, or a new one. Without an id, a new one with a random id."""
        return Session(_do(self._inner.session(session_id)))

    def sessions(self) -> List[SessionInfo]:
        """The sessions of this token."""
        return _do(self._inner.sessions())

    def health(self) -> bool:
        """Whether the service is up. Needs no token."""
        return _do(self._inner.health())

    def audit(
        self,
        *,
        session: Optional[str] = None,
        run: Optional[int] = None,
        type: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        from_start: bool = False,
        after: Optional[str] = None,
        limit: int = 200,
    ) -> AuditPage:
        """The last events of the audit, or with `from_start` the first, or those after a page's `next`. Needs the scope `audit`."""
        return _do(
            self._inner.audit(
                session=session,
                run=run,
                type=type,
                since=since,
                until=until,
                from_start=from_start,
                after=after,
                limit=limit,
            )
        )

    def follow_audit(self, *, session: Optional[str] = None, type: Optional[str] = None, limit: int = 200) -> AuditFeed:
        """The last events of the audit, then new ones as they are written."""
        return AuditFeed(self._inner.follow_audit(session=session, type=type, limit=limit))

    def verify_audit(self) -> AuditReport:
        """Whether every line of the audit is as it was written. Needs the scope `admin`."""
        return _do(self._inner.verify_audit())

    def metrics(self) -> str:
        """Counters for Prometheus. Needs the scope `metrics`."""
        return _do(self._inner.metrics())

    def openapi(self) -> Dict[str, Any]:
        """The OpenAPI document of the service."""
        return _do(self._inner.openapi())

    def open_link(self, url: str) -> RemoteFile:
        """Opens the file of a link to read it piece by piece. Asks this service only, and sends no token."""
        return RemoteFile(_do(self._inner.open_link(url)))

    def download_link(self, url: str, to: Target) -> int:
        """Writes the file of a link to a local path or an open binary file, and returns its size."""
        return _do(self._inner.download_link(url, to))

    def close(self) -> None:
        """Ends the connections. Sessions stay, except those of a service that `connect` started, which ends. Safe to repeat."""
        _do(self._inner.close())
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def __enter__(self) -> "Codecell":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
) -> Codecell:
    """Connects to the service at `url`, or at CODECELL_URL with CODECELL_TOKEN. Without either it starts `codecell serve`.

    `command`, `policy` and `serve_arguments` are for a service that it starts. `timeout` is how long the service may take to
    answer, in seconds. `allow_insecure` permits http:// to another machine.

    >>> with connect() as box:
    ...     box.session("a").run("1 + 1").value
    '2'
    """
    runtime = BlockingRuntime(ssl_context)
    url, token = settings(url, token)
    if url is not None:
        return Codecell(Transport(parse_address(url, allow_insecure), token, runtime, timeout))
    server = LocalServer(command, policy, serve_arguments)
    return Codecell(Transport(parse_address(server.url), server.token, runtime, timeout), server.stop)
