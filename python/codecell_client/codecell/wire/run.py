"""A run and its parts."""
from __future__ import annotations

import base64
import binascii
import dataclasses
from typing import Any, Dict, Optional, Tuple

from ..errors import ProgramError, bad_response
from .show import html_of_run, mime_bundle_of_run, text_of_run


@dataclasses.dataclass(frozen=True)
class ProgramFailure:
    """The exception that ended a program. Its texts come from the cell."""

    type: str
    message: str
    traceback: str


@dataclasses.dataclass(frozen=True)
class Display:
    """One form of a value that the program displayed. Its content comes from the cell: do not render HTML or SVG of it."""

    display: int
    mime_type: str
    size: int
    data_base64: Optional[str] = dataclasses.field(default=None, repr=False)
    stdout_offset: Optional[int] = None

    @property
    def data(self) -> Optional[bytes]:
        """The content. None: it is too large for the result, and only in the events."""
        return None if self.data_base64 is None else from_base64(self.data_base64)

    @property
    def text(self) -> Optional[str]:
        """The content as text, if it is text."""
        is_text = self.mime_type.startswith("text/") or self.mime_type.split(";")[0] in ("application/json", "image/svg+xml")
        data = self.data if is_text else None
        return None if data is None else data.decode("utf-8", "replace")


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A file that a run created or changed."""

    name: str
    size: int
    mime_type: str
    sha256: str
    download_url: Optional[str] = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A changed file that is no artifact, and why."""

    name: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class LeftOutBytes:
    """How much is missing in the middle of the kept output."""

    stdout: int
    stderr: int


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a run used."""

    wall_ms: float
    sent_bytes: int
    received_bytes: int
    cpu_ms: Optional[float] = None
    peak_memory_bytes: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class AllowedHost:
    """A host that a run reached."""

    host: str
    port: int
    requests: int
    sent_bytes: int
    received_bytes: int
    failures: int
    failure: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class DeniedHost:
    """A host that the policy denied."""

    host: str
    port: int
    requests: int
    reason: str
    remedy: str


@dataclasses.dataclass(frozen=True)
class Egress:
    """Which hosts a run reached, and which the policy denied."""

    allowed: Tuple[AllowedHost, ...]
    denied: Tuple[DeniedHost, ...]
    more: int = 0


@dataclasses.dataclass(frozen=True, repr=False)
class RunResult:
    """How a run ended, or its output so far (`status` is "running"). docs/wire.md describes each field.

    Everything that the program wrote is untrusted text.
    """

    run_id: str
    session_id: str
    status: str
    stdout: str
    stderr: str
    truncated: bool
    duration_ms: int
    runner: str
    state: Optional[str] = None
    exit_code: Optional[int] = None
    value: Optional[str] = None
    error: Optional[ProgramFailure] = None
    displays: Tuple[Display, ...] = ()
    artifacts: Tuple[Artifact, ...] = ()
    left_out: Tuple[LeftOut, ...] = ()
    egress: Optional[Egress] = None
    notes: Tuple[str, ...] = ()
    usage: Optional[Usage] = None
    stdout_bytes: Optional[int] = None
    stderr_bytes: Optional[int] = None
    policy_hash: Optional[str] = None
    next_offset: Optional[int] = None
    number: Optional[int] = None
    left_out_bytes: Optional[LeftOutBytes] = None
    stopped_at_line: Optional[int] = None
    recovered_to: Optional[int] = None

    @property
    def ok(self) -> bool:
        """Whether the program succeeded."""
        return self.status == "ok"

    @property
    def is_running(self) -> bool:
        return self.status == "running"

    def check(self) -> "RunResult":
        """Returns this result. Raises ProgramError if the program did not succeed."""
        if self.ok:
            return self
        reason = "%s: %s" % (self.error.type, self.error.message) if self.error else "the status is %s" % self.status
        raise ProgramError("the program failed: %s" % reason, self)

    def __repr__(self) -> str:
        return text_of_run(self)

    def _repr_html_(self) -> str:
        """For Jupyter: text is escaped, PNG and JPEG pictures are shown. HTML and SVG of the cell are not rendered."""
        return html_of_run(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        return mime_bundle_of_run(self)


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A run in the list of a session's runs."""

    run_id: str
    session_id: str
    status: str
    cancelled: bool
    duration_ms: int
    next_offset: int


def from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad_response("it is not base64") from None
