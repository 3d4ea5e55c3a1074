"""Sessions, their files, variables, checkpoints and policy, and the audit."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Optional, Tuple

from .run import Artifact, LeftOut


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A frozen copy of a session's variables."""

    name: str
    after_run: int
    created_at: str


@dataclasses.dataclass(frozen=True)
class Undone:
    """An undo: the run that was undone, and how many more can be."""

    run: int
    left: int


@dataclasses.dataclass(frozen=True)
class SessionInfo:
    """A session as the service lists it."""

    session_id: str
    state: str
    persistent: bool
    busy: Optional[bool] = None
    runs: Optional[int] = None
    runner: Optional[str] = None
    created_at: Optional[str] = None
    used_at: Optional[str] = None
    checkpoints: Optional[Tuple[Checkpoint, ...]] = None
    saved_variables: Optional[int] = None
    skipped_variables: Optional[int] = None
    snapshot_size: Optional[int] = None
    shared_cell: Optional[int] = None
    problem: Optional[str] = None
    policy_hash: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class SkippedVariable:
    """A variable that could not be saved or restored, and why."""

    name: str
    reason: str


@dataclasses.dataclass(frozen=True)
class SavedFiles:
    """The files of a save, if they are not in a directory of the host. `size` is their bytes together."""

    count: int
    size: int
    skipped: Tuple[SkippedVariable, ...]
    skipped_count: int


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Variables of a session on disk."""

    session_id: str
    after_run: int
    saved_at: str
    size: int
    python: str
    runner: str
    variables: Tuple[str, ...]
    skipped: Tuple[SkippedVariable, ...]
    files: Optional[SavedFiles] = None


@dataclasses.dataclass(frozen=True)
class Problem:
    """Why nothing was restored."""

    code: str
    message: str
    hint: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Restored:
    """What came back when a saved session was brought back into a cell."""

    session_id: str
    runner: str
    variables: Tuple[str, ...]
    failed: Tuple[SkippedVariable, ...]
    skipped: Tuple[SkippedVariable, ...]
    after_run: Optional[int] = None
    problem: Optional[Problem] = None


@dataclasses.dataclass(frozen=True)
class HistoryEntry:
    """An earlier run of a session."""

    run: int
    ended_at: str
    language: str
    code: str
    status: str
    duration_ms: int


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable without its value. `summary` is the beginning of its repr."""

    name: str
    type: str
    summary: str
    size: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class File:
    """A file in a session's working directory."""

    name: str
    size: int
    modified_at: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class FilePage:
    """One page of files. `next` is the `after` of the next page."""

    files: Tuple[File, ...]
    left_out: int
    truncated: bool
    next: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ArtifactPage:
    """One page of files with type, digest and link. `next` is the `after` of the next page."""

    artifacts: Tuple[Artifact, ...]
    left_out: Tuple[LeftOut, ...]
    truncated: bool
    next: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Link:
    """A link to a file. Everybody who has it can download the file until it expires, so `repr` does not show it."""

    url: str = dataclasses.field(repr=False)
    name: str
    sha256: str
    size: int
    expires_at: str


@dataclasses.dataclass(frozen=True)
class NetworkRules:
    """The rules of a policy that can change while a session lives."""

    enabled: bool
    allowlist: Tuple[str, ...]
    deny: Tuple[str, ...]
    connections: int
    requests: int
    sent: str
    received: str


@dataclasses.dataclass(frozen=True)
class PolicyChange:
    """One rule that changed. `direction` is "narrower" or "wider"."""

    rule: str
    from_: str
    to: str
    direction: str


@dataclasses.dataclass(frozen=True)
class SessionPolicy:
    """The rules in force. `changes` is what this call changed."""

    policy_hash: str
    net: NetworkRules
    changes: Tuple[PolicyChange, ...] = ()


@dataclasses.dataclass(frozen=True)
class EnforcedRule:
    """One rule of a policy, and what enforces it."""

    rule: str
    value: str
    by: str
    how: str


@dataclasses.dataclass(frozen=True)
class NetworkCarrier:
    """How connections of a cell reach the proxy."""

    carrier: str
    reason: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Receipt:
    """What was enforced during a run, rule by rule."""

    runner: str
    runner_version: str
    policy_hash: str
    rules: Tuple[EnforcedRule, ...]
    notes: Tuple[str, ...]
    network: Optional[NetworkCarrier] = None


@dataclasses.dataclass(frozen=True)
class CellUsage:
    """What a cell uses now. None: its runner cannot measure it."""

    oom_kills: int
    memory_bytes: Optional[float] = None
    peak_memory_bytes: Optional[float] = None
    cpu_ms: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class Cell:
    """The cell of a session."""

    python_version: str
    languages: Tuple[str, ...]
    usage: CellUsage
    receipt: Receipt


@dataclasses.dataclass(frozen=True)
class Preview:
    """The beginning of a value as text. `form` is "json", or "repr" for a value that has no JSON form."""

    form: str
    text: str
    characters: int
    is_cut: bool


@dataclasses.dataclass(frozen=True)
class AuditPage:
    """Events of the audit, oldest first. docs/audit.md lists their fields."""

    entries: Tuple[Dict[str, Any], ...]
    next: str
    more: bool


@dataclasses.dataclass(frozen=True)
class AuditReport:
    """Whether the audit is as it was written."""

    sound: bool
    chains: Tuple[Dict[str, Any], ...]
    problems: Tuple[Dict[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class FunctionCall:
    """A call of a program. Its arguments come from the cell."""

    call: int
    run: int
    name: str
    arguments: Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class StdinSent:
    """How much of its input a program took."""

    size: int
    is_complete: bool
