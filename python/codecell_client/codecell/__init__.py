"""Runs code in codecell sandboxes: on this machine, or at a service on another one.

    import codecell

    with codecell.connect() as box:
        print(box.session("a").run("1 + 1").value)

`codecell.aio` has the same for asyncio. docs/clients-python.md has more examples.
"""
from __future__ import annotations

from . import aio
from .blocking import AuditFeed, Codecell, Exposure, RemoteFile, Run, Session, connect
from .core.schema import Function
from .errors import CodecellError, ProgramError, StillRunning, Unreachable
from .wire.event import Displayed, Ended, Output, RunEvent
from .wire.run import Artifact, Display, ProgramFailure, RunResult, RunSummary, Usage
from .wire.session import (
    AuditPage,
    Cell,
    Checkpoint,
    File,
    HistoryEntry,
    Link,
    Preview,
    Receipt,
    SessionInfo,
    SessionPolicy,
    Snapshot,
    Undone,
    Variable,
)

__all__ = [
    "Artifact",
    "AuditFeed",
    "AuditPage",
    "Cell",
    "Checkpoint",
    "Codecell",
    "CodecellError",
    "Display",
    "Displayed",
    "Ended",
    "Exposure",
    "File",
    "Function",
    "HistoryEntry",
    "Link",
    "Output",
    "Preview",
    "ProgramError",
    "ProgramFailure",
    "Receipt",
    "RemoteFile",
    "Run",
    "RunEvent",
    "RunResult",
    "RunSummary",
    "Session",
    "SessionInfo",
    "SessionPolicy",
    "Snapshot",
    "StillRunning",
    "Unreachable",
    "Usage",
    "Undone",
    "Variable",
    "aio",
    "connect",
]
