"""The errors of this package. No message contains the token."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .wire.run import RunResult


class CodecellError(Exception):
    """codecell could not do what it was asked. A program that fails is a RunResult, not an error.

    `code` is for programs to branch on (docs/errors.md), `hint` says how to fix it, and `status` is the HTTP status, 0 if the
    service did not answer.

    >>> error = CodecellError("session_unknown", 'there is no session "a"', hint="box.sessions() lists them", status=404)
    >>> print(error)
    there is no session "a" (box.sessions() lists them)
    >>> error.code, error.status
    ('session_unknown', 404)
    """

    def __init__(self, code: str, message: str, *, hint: Optional[str] = None, status: int = 0) -> None:
        super().__init__("%s (%s)" % (message, hint) if hint else message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


class Unreachable(CodecellError, ConnectionError):
    """The service did not answer, or the connection was cut. Its code is `unreachable`."""

    def __init__(self, message: str, *, hint: Optional[str] = None, is_sent: bool = True) -> None:
        super().__init__("unreachable", message, hint=hint)
        # Whether the service may have got the request.
        self.is_sent = is_sent


class StillRunning(CodecellError, TimeoutError):
    """A run did not end within the time that the caller waited. It is still running. Its code is `still_running`."""

    def __init__(self, run_id: str) -> None:
        super().__init__("still_running", "run %s is still running" % run_id, hint="wait again, or cancel it")
        self.run_id = run_id


class ProgramError(CodecellError):
    """The program failed. Only `check=True` and `RunResult.check()` raise it. Its code is `program_failed`."""

    def __init__(self, message: str, result: "RunResult") -> None:
        super().__init__("program_failed", message)
        self.result = result


def bad_response(reason: str, status: int = 0) -> CodecellError:
    """The service answered with something that no codecell sends."""
    hint = "check that the URL is that of a codecell service"
    return CodecellError("bad_response", "the service sent an invalid response: %s" % reason, hint=hint, status=status)
